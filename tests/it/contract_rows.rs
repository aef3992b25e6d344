//! Changing any row of the contract is noticed by the test that walks it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::contract::{Table, end};

/// A change of one field of the row of a reason.
type Change = fn(&mut (String, String, i32, String, String, String));

#[test]
fn contract_notices_every_field_of_a_changed_row() {
    const CHANGES: [(&str, Change); 5] = [
        ("heading", |row| "✅".clone_into(&mut row.0)),
        ("status", |row| "success".clone_into(&mut row.1)),
        ("exit code", |row| row.2 = 0),
        ("result in JUnit", |row| "skipped".clone_into(&mut row.3)),
        ("sentence", |row| "all is well".clone_into(&mut row.5)),
    ];
    let (_sandbox, run) = end("talks", "changes", "dry-run");
    let is_noticed = |table: &Table, reason: &str, expected: &str| {
        catch_unwind(AssertUnwindSafe(|| table.check("changed", &run, reason, expected))).is_err()
    };
    assert!(!is_noticed(&Table::read(), "nothing_changed", "changes"), "as it is, the row holds");
    for (field, change) in CHANGES {
        let mut table = Table::read();
        change(table.reasons.get_mut("nothing_changed").expect("the row"));
        assert!(is_noticed(&table, "nothing_changed", "changes"), "{field}");
    }
    // So is a way that should end otherwise, or was asked for something else.
    assert!(is_noticed(&Table::read(), "llm_done", "changes"));
    assert!(is_noticed(&Table::read(), "nothing_changed", "any"));
}
