//! Versions in the texts of manifests, such as `^1.2`, `v4` or `requests>=2.0`, and the requirements that they are compared
//! with.

use std::cmp::Ordering;

/// Reason why a requirement of versions cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid requirement `{0}`; write comparisons with commas between them, such as `>=1.2, <2`")]
pub struct InvalidRequirement(String);

/// Comparisons that a version has to pass.
#[derive(Clone, Debug)]
pub(crate) struct Requirement(Vec<(Comparison, Version)>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Less,
    AtMost,
    Equal,
    Other,
    AtLeast,
    More,
}

/// Version: numbers of any size, and what makes it a pre-release.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Version {
    numbers: Vec<Number>,
    pre_release: Option<PreRelease>,
}

/// Number of any size, without leading zeros: a longer one is greater.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Number(usize, String);

impl Number {
    fn parse(digits: &str) -> Self {
        let digits = digits.trim_start_matches('0');
        Self(digits.len(), digits.to_owned())
    }
}

/// What makes a version one that comes before its release, in the order in which they come.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct PreRelease {
    stage: u8,
    numbers: Vec<Number>,
}

/// Words of pre-releases, by the stage that they stand for. Others, as in `33.0-jre` or `1.2.Final`, say nothing about when.
const STAGES: [(u8, &[&str]); 4] = [
    (0, &["dev", "snapshot", "nightly", "canary"]),
    (1, &["alpha", "a", "ea", "experimental"]),
    (2, &["beta", "b", "milestone", "m"]),
    (3, &["rc", "cr", "c", "pre", "preview", "next"]),
];

impl PreRelease {
    /// Reads what follows the numbers of a version: `-rc.1`, `b2`, `.dev3`.
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim_start_matches(['-', '.', '_']);
        let end = text.find(|sign: char| !sign.is_ascii_alphabetic()).unwrap_or(text.len());
        let word = text[..end].to_ascii_lowercase();
        let (stage, _) = STAGES.iter().find(|(_, words)| words.contains(&word.as_str()))?;
        let length = text
            .find(|sign: char| !sign.is_ascii_alphanumeric() && !matches!(sign, '.' | '-' | '_'))
            .unwrap_or(text.len());
        let digits = text[end..length].split(|sign: char| !sign.is_ascii_digit());
        let numbers = digits.filter(|digits| !digits.is_empty()).map(Number::parse).collect();
        Some(Self { stage: *stage, numbers })
    }
}

impl Requirement {
    pub(crate) fn parse(text: &str) -> Result<Self, InvalidRequirement> {
        let invalid = || InvalidRequirement(text.to_owned());
        let comparison = |part: &str| {
            let part = part.trim();
            let (comparison, version) = [
                ("<=", Comparison::AtMost),
                (">=", Comparison::AtLeast),
                ("==", Comparison::Equal),
                ("!=", Comparison::Other),
                ("<", Comparison::Less),
                (">", Comparison::More),
                ("=", Comparison::Equal),
            ]
            .into_iter()
            .find_map(|(sign, comparison)| Some((comparison, part.strip_prefix(sign)?.trim())))?;
            let starts_well =
                version.trim_start_matches(['v', 'V']).starts_with(|sign: char| sign.is_ascii_digit());
            Some((comparison, Version::first_in(version).filter(|_| starts_well)?))
        };
        text.split(',').map(comparison).collect::<Option<_>>().map(Self).ok_or_else(invalid)
    }

    /// Returns whether the first version of a text passes. A text without one does not.
    pub(crate) fn fits(&self, text: &str) -> bool {
        let Some(version) = Version::first_in(text) else { return false };
        self.0.iter().all(|(comparison, other)| {
            let order = version.compare(other);
            match comparison {
                Comparison::Less => order.is_lt(),
                Comparison::AtMost => order.is_le(),
                Comparison::Equal => order.is_eq(),
                Comparison::Other => order.is_ne(),
                Comparison::AtLeast => order.is_ge(),
                Comparison::More => order.is_gt(),
            }
        })
    }
}

impl Version {
    /// Returns the first version of a text. Digits that belong to a name, as in `boto3`, begin none.
    fn first_in(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let begins = |at: &usize| {
            let before = |back: usize| at.checked_sub(back).map(|index| bytes[index]);
            let is_part = |byte: Option<u8>| {
                byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80)
            };
            let has_v = matches!(before(1), Some(b'v' | b'V')) && !is_part(before(2));
            bytes[*at].is_ascii_digit() && (has_v || !is_part(before(1)))
        };
        let start = (0..bytes.len()).find(begins)?;
        let rest = &text[start..];
        let end = rest.find(|sign: char| !sign.is_ascii_digit() && sign != '.').unwrap_or(rest.len());
        let numbers = rest[..end].trim_end_matches('.').split('.').map(Number::parse).collect();
        Some(Self { numbers, pre_release: PreRelease::parse(&rest[end..]) })
    }

    /// Compares two versions. Missing numbers are zero, and a pre-release comes before its release.
    fn compare(&self, other: &Self) -> Ordering {
        let length = self.numbers.len().max(other.numbers.len());
        let padded = |it: &Self| {
            let mut numbers = it.numbers.clone();
            numbers.resize(length, Number::default());
            numbers
        };
        padded(self).cmp(&padded(other)).then_with(|| match (&self.pre_release, &other.pre_release) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (Some(own), Some(other)) => own.cmp(other),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_texts_are_held_against_requirements() {
        for (text, requirement, fits) in [
            ("2.30", "<2.31", true),
            ("^2.31.0", "<2.31", false),
            ("2.31", "=2.31.0", true),
            ("boto3>=1.2", "<2, >=1", true),
            ("actions/checkout@v3", "<4", true),
            ("actions/checkout@v4.1.1", "<4", false),
            ("2.0.0-rc.1", "<2", true),
            ("2.0.0rc1", "<2", true),
            ("2.0.0+build5", "==2.0.0", true),
            ("99999999999999999999999999999999999999", ">9", true),
            ("010", "=10", true),
            ("latest", ">=0", false),
            ("", ">=0", false),
            ("git+https://example.com/x2.git", ">=0", false),
            ("1.2", "!=1.3", true),
            ("2.0.0-rc.10", ">2.0.0-rc.9", true),
            ("2.0.0rc10", ">2.0.0rc9", true),
            ("2.0.0-rc.1", "=2.0.0rc1", true),
            ("2.0.0-beta.9", "<2.0.0-rc.1", true),
            ("2.0.0-SNAPSHOT", "<2.0.0-alpha", true),
            ("2.0.dev3", "<2.0a1", true),
            ("33.0.0-jre", ">=33", true),
            ("5.3.0.Final", "=5.3", true),
            ("node:20.1-alpine", ">=20.1", true),
            ("1.0.post1", "<1.0", false),
        ] {
            let parsed = Requirement::parse(requirement).expect("a requirement");
            assert_eq!(parsed.fits(text), fits, "{text} {requirement}");
        }
        for invalid in ["", "2", "<", "< x", "~1.2", ">=1, ", "<a1"] {
            assert!(Requirement::parse(invalid).is_err(), "{invalid}");
        }
    }
}
