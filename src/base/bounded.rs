//! Bounded numbers: values out of range cannot be represented.

use std::borrow::Cow;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};

/// Whole number from `MIN` to `MAX`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Bounded<const MIN: u64, const MAX: u64>(u64);

/// Error for a number that is too small or too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{value} is out of range; use a number from {min} to {max}")]
pub struct OutOfRange {
    value: u64,
    min: u64,
    max: u64,
}

impl<const MIN: u64, const MAX: u64> Bounded<MIN, MAX> {
    /// Creates the number if it is in range.
    pub fn new(value: u64) -> Result<Self, OutOfRange> {
        if (MIN..=MAX).contains(&value) {
            Ok(Self(value))
        } else {
            Err(OutOfRange { value, min: MIN, max: MAX })
        }
    }

    /// Creates a constant; one out of range does not compile.
    pub const fn fixed<const VALUE: u64>() -> Self {
        const { assert!(MIN <= VALUE && VALUE <= MAX) };
        Self(VALUE)
    }

    /// Returns the number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the number as a count of things in memory.
    pub fn count(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }

    /// Returns the number as a duration in seconds.
    pub const fn seconds(self) -> Duration {
        Duration::from_secs(self.0)
    }
}

impl<'de, const MIN: u64, const MAX: u64> Deserialize<'de> for Bounded<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(u64::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

impl<const MIN: u64, const MAX: u64> JsonSchema for Bounded<MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("From{MIN}To{MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": MIN, "maximum": MAX })
    }
}

/// An amount of money: a number above 0.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Usd(f64);

/// Error for an amount of money that is not above 0.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("invalid amount {0}; use a number above 0")]
pub struct InvalidAmount(f64);

impl Usd {
    /// Creates the amount if it is finite and above 0.
    pub fn new(value: f64) -> Result<Self, InvalidAmount> {
        if value.is_finite() && value > 0.0 { Ok(Self(value)) } else { Err(InvalidAmount(value)) }
    }

    /// Returns the amount in USD.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl<'de> Deserialize<'de> for Usd {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(f64::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}
