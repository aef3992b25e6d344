# Lists the recipes.
default:
    @just --list

# Format, lint, and the tests that need no network.
check:
    cargo fmt --all --check
    cargo clippy --all-targets -- -D warnings
    cargo test

# Tests alone.
test *args:
    cargo test {{args}}

# Everyday command lines of some tables (all by default), and many random sessions in both modes.
everyday tables="" sessions="500":
    EVERYDAY={{tables}} EVERYDAY_SESSIONS={{sessions}} cargo test --test it everyday:: -- --nocapture

# What the sandbox costs a command, by the program as it is released.
sandbox-cost *args:
    cargo build --profile dist
    tests/scripts/sandbox-cost.py {{args}}

# What a list of hosts costs a command, by the program as it is released.
egress-cost *args:
    cargo build --profile dist
    tests/scripts/egress-cost.py {{args}}

# Every attack of `tests/attacks`, and so many generated ones; `cargo test` plays a part.
attacks generated="2000":
    ATTACKS_EVERY=1 ATTACKS_GENERATED={{generated}} ATTACKS_SEQUENCES={{generated}} cargo test --test it attacks::

# So many writers of one branch of records, and of one ledger on a branch or in a file, at the same time; `cargo test` has five.
record-writers count="20":
    WRITERS={{count}} cargo test --test it -- records:: ledger_on_branch_is ledger_in_a_file

# Nights over so many tasks, of which three in a hundred have changed between two of them.
nights tasks="1000":
    NIGHT_TASKS={{tasks}} cargo test --test it batch_skips_what_earlier_night_settled

# So many tasks on 16 machines that share a model which allows so many requests in a second, within 1.3 times the ideal time.
pace tasks="1000" per_second="4":
    PACE_TASKS={{tasks}} PACE_PER_SECOND={{per_second}} PACE_WITHIN=1.3 cargo test --test it shards_share -- --nocapture

# What the program adds to a session of 40 steps: time to the first request and per turn, memory; `--check` holds what does not
# depend on the machine.
session-cost *args:
    cargo build --profile dist
    tests/scripts/session-cost.py {{args}}

# So many dry runs and real ones (by a model and by a recipe), and so many batches and applies, each killed at random moments and
# gone on with on another machine.
kills runs="300" others="100" seed="7":
    KILLS_RUNS={{runs}} KILLS_OTHERS={{others}} KILLS_SEED={{seed}} cargo test --test it -- --nocapture killed_runs killed_batches killed_applies
# So many pull requests with ten pushes each: a later push asks for a fifth of the first one's tokens, and no finding is repeated
# or lost. `cargo test` has one.
pushes count="10" seed="7":
    PULLS={{count}} PULLS_SEED={{seed}} cargo test --test it ten_pushes -- --nocapture

# A campaign over many repositories, killed so often and gone on with on another machine each time.
campaign repositories="200" kills="30" seed="7":
    CAMPAIGN_REPOSITORIES={{repositories}} CAMPAIGN_KILLS={{kills}} CAMPAIGN_SEED={{seed}} cargo test --test it campaign_killed -- --nocapture

# What a recipe costs that changes 30,000 places in 5,000 files, by the program as it is released; `--ast-grep PROGRAM` for a
# comparison.
recipe-cost *args:
    cargo build --profile dist
    tests/scripts/recipe-cost.py {{args}}

# Random histories of campaigns against their judgement, and the simulations of docs/scale.md.
campaign-histories count="5000":
    CAMPAIGN_HISTORIES={{count}} cargo test --test it campaign::model

# What tasks on real projects cost a model, of some tasks or all; `--check` holds the limits. Sources come by network.
turns *args:
    cargo build --profile dist
    benches/turns/run.py {{args}}

# Every weakening of tests that the tables of `tests check` hold; `cargo test` plays a quarter of the large ones.
weakenings:
    INTEGRITY_EVERY=1 cargo test -p architect-ci-test-integrity --test table

# How often `tests check` names honest commits of clones with full history, by the verdicts in benches/honest-rate.csv.
honest-rate +repositories:
    cargo build --profile dist
    python3 tests/scripts/honest-rate.py target/dist/architect-ci {{repositories}}

# Makes the pictures in docs/pictures again. Wants Chromium with a font of coloured signs (or one in `EMOJI`), and
# github-markdown-css, marked and puppeteer-core in the folder of Node modules.
pictures modules="target/ci-tools":
    cargo build --profile dist
    rm -rf target/pictures
    OUT=target/pictures/run ARCHITECT_CI=target/dist/architect-ci samples/try.sh invoice --quiet >/dev/null
    tests/scripts/large-report.py target/dist/architect-ci target/pictures/large
    MODULES={{modules}} CHROMIUM=$(command -v chromium) node tests/scripts/pictures.mjs target/pictures/run target/pictures/large docs/pictures

# A sample: invoice or slug.
try name="invoice":
    samples/try.sh {{name}}

# Records the samples' transcripts anew, from their own replies.
record:
    samples/record.sh

# Everything that CI runs.
ci:
    bash .ci/run
