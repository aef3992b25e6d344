//! Rules about system calls: conditions on what a call is given.

use std::collections::BTreeMap;

use seccompiler::{BackendError, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

pub(super) type Rules = BTreeMap<i64, Vec<SeccompRule>>;

pub(super) fn condition(
    argument: u8,
    operator: SeccompCmpOp,
    value: i32,
) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value.cast_unsigned().into())
}

/// Returns a rule for a first argument that is none of these families.
pub(super) fn none_of(families: &[i32]) -> Result<SeccompRule, BackendError> {
    let others = families.iter().map(|family| condition(0, SeccompCmpOp::Ne, *family));
    SeccompRule::new(others.collect::<Result<_, _>>()?)
}

/// Returns rules for an argument with one of these bits.
pub(super) fn any_bit(argument: u8, bits: &[i32]) -> Result<Vec<SeccompRule>, BackendError> {
    let rule = |bit: &i32| {
        let mask = SeccompCmpOp::MaskedEq(bit.cast_unsigned().into());
        SeccompRule::new(vec![condition(argument, mask, *bit)?])
    };
    bits.iter().map(rule).collect()
}

/// Returns rules for a call that creates a file and whose mode, after the flags, has one of these bits.
pub(super) fn made_with(flags: u8, bits: &[i32]) -> Result<Vec<SeccompRule>, BackendError> {
    let rule = |flag: i32, bit: &i32| {
        let makes = SeccompCmpOp::MaskedEq(flag.cast_unsigned().into());
        let mask = SeccompCmpOp::MaskedEq(bit.cast_unsigned().into());
        SeccompRule::new(vec![condition(flags, makes, flag)?, condition(flags + 1, mask, *bit)?])
    };
    // A file without a name can be given one later.
    let creating = [libc::O_CREAT, libc::O_TMPFILE];
    creating.iter().flat_map(|flag| bits.iter().map(|bit| rule(*flag, bit))).collect()
}

/// Returns rules for an argument that is one of these values.
pub(super) fn one_of(argument: u8, values: &[i32]) -> Result<Vec<SeccompRule>, BackendError> {
    let rule = |value: &i32| SeccompRule::new(vec![condition(argument, SeccompCmpOp::Eq, *value)?]);
    values.iter().map(rule).collect()
}
