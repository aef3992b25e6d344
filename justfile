# Lists the recipes.
default:
    @just --list

# Format, lint, and the tests that need no network.
check:
    cargo fmt --check
    cargo clippy --all-targets -- -D warnings
    cargo test

# Tests alone.
test *args:
    cargo test {{args}}

# Every attack of `tests/attacks`, and so many generated ones; `cargo test` plays a part.
attacks generated="2000":
    ATTACKS_EVERY=1 ATTACKS_GENERATED={{generated}} cargo test --test attacks

# A sample: invoice or slug.
try name="invoice":
    samples/try.sh {{name}}

# Records the samples' transcripts anew, from their own replies.
record:
    samples/record.sh

# Everything that CI runs.
ci:
    bash .ci/run
