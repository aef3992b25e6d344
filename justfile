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

# A sample: invoice or slug.
try name="invoice":
    samples/try.sh {{name}}

# Records the samples' transcripts anew, from their own replies.
record:
    samples/record.sh

# Everything that CI runs.
ci:
    bash .ci/run
