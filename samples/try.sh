#!/usr/bin/env bash
# Runs a sample on a throw-away repository with a recorded model. It needs no key, no network and no GitHub.
#
#   samples/try.sh invoice          a dry run on a pull request
#   samples/try.sh slug             real edits (on the throw-away repository)
#
# Builds the program first, unless ARCHITECT_CI names one. Further arguments are passed on to it.
set -euo pipefail

samples=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
name=${1:?name a sample: invoice or slug}
shift
sample=$samples/$name
[ -d "$sample/base" ] || { echo "unknown sample: $name; use invoice or slug" >&2; exit 3; }

if [ -z "${ARCHITECT_CI:-}" ]; then
  "$samples/tools.sh" cargo cc git node python3
  # What `cargo test` builds as well: a release takes minutes more, for a sample that takes a second. With a test among
  # the targets, crates are built with the features that tests want of them, and not once more for `cargo test`. Cargo
  # is started where `rust-toolchain.toml` is.
  root=$(cd "$samples/.." && pwd)
  target=${CARGO_TARGET_DIR:-$root/target}
  case $target in /*) ;; *) target=$PWD/$target ;; esac
  (cd "$root" && CARGO_TARGET_DIR=$target cargo build --locked --bin architect-ci --test environment)
  ARCHITECT_CI=$target/debug/architect-ci
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/architect-ci-sample-XXXXXX")
repository=$work/$name
out=${OUT:-$work/out}

git_quietly() {
  git -C "$repository" -c user.name=sample -c user.email=sample@localhost -c commit.gpgsign=false "$@" >/dev/null
}

cp -R "$sample/base" "$repository"
git_quietly init --initial-branch=main
git_quietly add --all
git_quietly commit --message="The state before"
base=$(git -C "$repository" rev-parse HEAD)

arguments=(--mode yolo)
if [ -d "$sample/head" ]; then
  git_quietly checkout -b discount
  cp -R "$sample/head/." "$repository/"
  git_quietly add --all
  git_quietly commit --message="Add a discount"
  head=$(git -C "$repository" rev-parse HEAD)
  # The part of a pull-request event that matters here.
  cat >"$work/event.json" <<JSON
{
  "action": "opened",
  "number": 7,
  "pull_request": {
    "number": 7,
    "title": "Add a discount",
    "head": { "ref": "discount", "sha": "$head", "repo": { "full_name": "octo/invoice" } },
    "base": { "ref": "main", "sha": "$base", "repo": { "full_name": "octo/invoice" } }
  },
  "repository": { "full_name": "octo/invoice" }
}
JSON
  arguments=(--mode dry-run --event "$work/event.json")
fi

echo "The repository is $repository" >&2
exec "$ARCHITECT_CI" run "${arguments[@]}" --workspace "$repository" --task-file "$sample/task.md" \
  --model "replay::$sample/transcript.jsonl" --out "$out" "$@"
