# List the recipes.
default:
    @just --list

# Check the format, lint, and run the tests; none of this needs a network.
check:
    cargo fmt --all --check
    cargo clippy --all-targets -- -D warnings
    cargo test

# Run the tests only.
test *args:
    cargo test {{args}}

# Run everyday command lines of some tables (all by default), and many random sessions in both modes.
everyday tables="" sessions="500":
    EVERYDAY={{tables}} EVERYDAY_SESSIONS={{sessions}} cargo test --test it everyday:: -- --nocapture

# Measure what the sandbox costs a command, with the release build.
sandbox-cost *args:
    cargo build --profile dist
    tests/scripts/sandbox-cost.py {{args}}

# Measure what a list of hosts costs a command, with the release build.
egress-cost *args:
    cargo build --profile dist
    tests/scripts/egress-cost.py {{args}}

# Run every attack in `tests/attacks`, and GENERATED further ones; `cargo test` runs a sample.
attacks generated="2000":
    ATTACKS_EVERY=1 ATTACKS_GENERATED={{generated}} ATTACKS_SEQUENCES={{generated}} cargo test --test it attacks::

# Let COUNT writers use one branch of records, and one ledger, at the same time; `cargo test` has five.
record-writers count="20":
    WRITERS={{count}} cargo test --test it -- records:: ledger_on_branch_is ledger_in_a_file

# Run two nights over TASKS tasks, of which 3% have changed in between.
nights tasks="1000":
    NIGHT_TASKS={{tasks}} cargo test --test it batch_skips_what_earlier_night_settled

# Run TASKS tasks on 16 machines that share a model with a rate limit, within 1.3 times the ideal time.
pace tasks="1000" per_second="4":
    PACE_TASKS={{tasks}} PACE_PER_SECOND={{per_second}} PACE_WITHIN=1.3 cargo test --test it shards_share -- --nocapture

# Measure a session of 40 steps: time to the first request and per turn, memory; `--check` checks what no machine changes.
session-cost *args:
    cargo build --profile dist
    tests/scripts/session-cost.py {{args}}

# Kill runs, batches and applies at random moments, and continue each on another machine.
kills runs="300" others="100" seed="7":
    KILLS_RUNS={{runs}} KILLS_OTHERS={{others}} KILLS_SEED={{seed}} cargo test --test it -- --nocapture killed_runs killed_batches killed_applies

# Review COUNT pull requests with ten pushes each: later pushes cost a fifth, and no finding is repeated or lost.
pushes count="10" seed="7":
    PULLS={{count}} PULLS_SEED={{seed}} cargo test --test it ten_pushes -- --nocapture

# Kill a campaign KILLS times, and continue on another machine each time.
campaign repositories="200" kills="30" seed="7":
    CAMPAIGN_REPOSITORIES={{repositories}} CAMPAIGN_KILLS={{kills}} CAMPAIGN_SEED={{seed}} cargo test --test it campaign_killed -- --nocapture

# Measure a recipe that changes 30,000 places in 5,000 files; `--ast-grep PROGRAM` compares with ast-grep.
recipe-cost *args:
    cargo build --profile dist
    tests/scripts/recipe-cost.py {{args}}

# Measure batches of 10, 100 and 1,000 tasks; `--recipe` measures recipes, `--check` checks their limit.
growth *args:
    cargo build --profile dist
    tests/scripts/growth.py target/dist/architect-ci {{args}}

# Measure whole and sparse worktrees of 100,000 files; `--check` compares them.
wide *args:
    cargo build --profile dist
    tests/scripts/wide.py target/dist/architect-ci {{args}}

# Check COUNT random histories of campaigns, and the simulations in docs/scale.md.
campaign-histories count="5000":
    CAMPAIGN_HISTORIES={{count}} cargo test --test it campaign::model

# Measure what tasks on real projects cost a model; `--check` checks the limits. Downloads the projects.
turns *args:
    cargo build --profile dist
    benches/turns/run.py {{args}}

# Check every weakening in the tables of `tests check`; `cargo test` checks a quarter of the large ones.
weakenings:
    INTEGRITY_EVERY=1 cargo test -p architect-ci-test-integrity --test table

# Compare merges of moved branches with Git's in 5,000 generated cases; `cargo test` plays 150.
merges:
    MERGES=5000 cargo test --lib what_is_merged_is_what_git_makes_of_it

# Measure how often `tests check` names honest commits, by the verdicts in benches/honest-rate.csv.
honest-rate +repositories:
    cargo build --profile dist
    python3 tests/scripts/honest-rate.py target/dist/architect-ci {{repositories}}

# Needs Chromium with a color emoji font (or one in `EMOJI`), and github-markdown-css, marked and puppeteer-core in MODULES.
# Create the pictures in docs/pictures again.
pictures modules="target/ci-tools":
    cargo build --profile dist
    rm -rf target/pictures
    OUT=target/pictures/run ARCHITECT_CI=target/dist/architect-ci samples/try.sh invoice --quiet >/dev/null
    tests/scripts/large-report.py target/dist/architect-ci target/pictures/large
    MODULES={{modules}} CHROMIUM=$(command -v chromium) node tests/scripts/pictures.mjs target/pictures/run target/pictures/large docs/pictures

# Run a sample: invoice or slug.
try name="invoice":
    samples/try.sh {{name}}

# Record the samples' transcripts again, from their own replies.
record:
    samples/record.sh

# Run everything that CI runs.
ci:
    bash .ci/run
