#!/usr/bin/env bash
# A recorded session on source that nobody here wrote: the sdist of `requests`, by name from the package
# registry. First as a dry run, then for real; the plan of the first has to be what the second does.
#
#   tests/scripts/real-source.sh PROGRAM PIP
set -euo pipefail
program=$(realpath "$1")
pip=$2
sessions=$(cd "$(dirname "${BASH_SOURCE[0]}")/../sessions" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$pip" download --quiet --no-deps --no-binary :all: --dest "$work" requests==2.32.3
tar --no-same-owner -xzf "$work/requests-2.32.3.tar.gz" -C "$work"
source=$work/requests-2.32.3
cat >"$work/architect.yml" <<'YAML'
guardrails:
  quality_gates:
    - name: compiles
      command: python3 -m compileall -q src tests
YAML

git_quietly() { git -C "$source" -c user.name=t -c user.email=t@localhost -c commit.gpgsign=false "$@" >/dev/null; }
git_quietly init --initial-branch=main
git_quietly add --all
git_quietly commit --message before

run() {
  CI=true "$program" run --quiet --workspace "$source" --config "$work/architect.yml" --task "Tidy up" \
    --model "replay::$sessions/requests.jsonl" --mode "$1" --out "$work/$1"
}
digest_of_tree() { (cd "$source" && find . -path ./.git -prune -o -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum); }
calls() { python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); c = r["calls"]; print(len(c), sum(x["success"] for x in c), r["status"], [g["passed"] for g in r["gates"]])' "$1"; }

before=$(digest_of_tree)
run dry-run >/dev/null
[ "$(digest_of_tree)" = "$before" ] || { echo "the dry run changed the checkout" >&2; exit 1; }
[ "$(calls "$work/dry-run/report.json")" = "15 15 success [True]" ] || { calls "$work/dry-run/report.json"; exit 1; }
git_quietly apply --check "$work/dry-run/plan.patch"

run yolo >/dev/null
[ "$(calls "$work/yolo/report.json")" = "15 15 success [True]" ] || { calls "$work/yolo/report.json"; exit 1; }
after=$(find "$source" -name __pycache__ -prune -exec rm -rf {} + ; digest_of_tree)
git_quietly checkout -- .
git_quietly clean -fdq
git_quietly apply "$work/dry-run/plan.patch"
[ "$(digest_of_tree)" = "$after" ] || { echo "the plan is not what the real run did" >&2; exit 1; }
echo "real source: 15 calls on requests 2.32.3, planned and done alike, gate passed"
