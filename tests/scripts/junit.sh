#!/usr/bin/env bash
# JUnit reports, read by others: valid by Jenkins' schema, and parsed by junitparser with the right counts.
#
#   tests/scripts/junit.sh PROGRAM PYTHON_WITH_JUNITPARSER
set -euo pipefail
program=$(realpath "$1")
python=$2
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir "$work/repo"
printf 'one\n' >"$work/repo/a.txt"
cat >"$work/repo/.architect.yml" <<'YAML'
guardrails:
  protected_files: [locked.txt]
  max_gate_rounds: 1
  quality_gates:
    - { name: "good <&> gate", command: "true" }
    - { name: optional, command: "echo ']]>' $'\\x1b[31m' $'\\xff'; exit 3", required: false }
    - { name: required, command: "echo oh no; exit 1" }
hooks:
  pre_tool_use:
    - { name: broken, command: "exit 9", matcher: edit_file }
YAML
cat >"$work/script.jsonl" <<'JSON'
{"type":"reply","agent":"build","step":1,"calls":[{"id":"1","name":"edit_file","arguments":{"path":"a.txt","old_str":"one","new_str":"]]> \u001b \u0000 two"}},{"id":"2","name":"write_file","arguments":{"path":"locked.txt","content":"x"}},{"id":"3","name":"read_file","arguments":{"path":"nowhere"}}]}
{"type":"reply","agent":"build","step":2,"text":"done ]]> \u0007 <b>"}
JSON
CI=true "$program" run --quiet --workspace "$work/repo" --task x --model "replay::$work/script.jsonl" --out "$work/out" >/dev/null && exit 1

# The other ends that a run can come to, each with a report of its own.
cat >"$work/idle.jsonl" <<'JSON'
{"type":"reply","agent":"build","step":1,"text":"done"}
JSON
cat >"$work/edit.jsonl" <<'JSON'
{"type":"reply","agent":"build","step":1,"calls":[{"id":"1","name":"write_file","arguments":{"path":"b.txt","content":"b"}}]}
{"type":"reply","agent":"build","step":2,"text":"done"}
JSON
printf '{}\n' >"$work/plain.yml"
run() { # NAME EXIT SCRIPT ARGUMENTS…
  local name=$1 wanted=$2 script=$3 code=0
  shift 3
  CI=true "$program" run --quiet --workspace "$work/repo" --config "${CONFIG:-$work/plain.yml}" --task x \
    --model "replay::$work/$script.jsonl" --out "$work/$name" "$@" >/dev/null 2>&1 || code=$?
  [ "$code" = "$wanted" ] || { echo "$name: exit code $code, not $wanted" >&2; exit 1; }
}
run idle 0 idle
run planned 0 edit
run partial 2 edit --max-steps 1
head -n 1 "$work/edit.jsonl" >"$work/short.jsonl"
run failed 1 short
code=0
CI=true "$program" apply "$work/planned/plan.json" --digest 0 --quiet --workspace "$work/repo" --out "$work/refused" >/dev/null 2>&1 || code=$?
[ "$code" = 6 ]
CI=true "$program" apply "$work/planned/plan.json" --config "$work/plain.yml" --quiet --workspace "$work/repo" --out "$work/applied" >/dev/null 2>&1
run changed 0 edit --mode yolo
# A review, and a batch: a task that is done, one that fails, one that is not begun.
printf 'review: {enabled: true}\nevaluation: off\n' >"$work/review.yml"
cat "$work/edit.jsonl" - >"$work/reviewed.jsonl" <<'JSON'
{"type":"reply","agent":"reviewer","step":1,"text":"{\"findings\": [{\"file\": \"b.txt\", \"line\": 1, \"severity\": \"note\", \"message\": \"]]> short\"}, {\"file\": \"b.txt\", \"line\": 2, \"severity\": \"error\", \"message\": \"<b>\"}]}"}
{"type":"reply","agent":"build","step":3,"text":"stays"}
{"type":"reply","agent":"reviewer","step":1,"text":"{\"findings\": [{\"file\": \"b.txt\", \"line\": 1, \"severity\": \"note\", \"message\": \"]]> short\"}, {\"file\": \"b.txt\", \"line\": 2, \"severity\": \"error\", \"message\": \"<b>\"}]}"}
JSON
sed 's/"content":"b"/"content":"c"/' "$work/reviewed.jsonl" >"$work/reviewed2.jsonl"
CONFIG=$work/review.yml run reviewed 0 reviewed2
git -C "$work/repo" init --quiet
git -C "$work/repo" add --all
git -C "$work/repo" -c user.name=t -c user.email=t@localhost commit --quiet --message before
cat >"$work/batch.yml" <<YAML
name: "]]> <batch>"
jobs: 1
tasks:
  - { id: good, task: x, model: "replay::$work/idle.jsonl" }
  - { id: bad, task: "]]> <x>", model: "replay::$work/short.jsonl" }
YAML
code=0
CI=true "$program" batch "$work/batch.yml" --quiet --config "$work/plain.yml" --workspace "$work/repo" --out "$work/batch" >/dev/null 2>&1 || code=$?
[ "$code" = 1 ]
for report in "$work"/*/junit.xml; do
  xmllint --noout --schema "$tests/jenkins-junit-10.xsd" "$report" 2>/dev/null || { echo "$report is not valid" >&2; exit 1; }
done
"$python" - "$work" <<'PYTHON'
import sys
from junitparser import JUnitXml

def counts(name):
    suites = JUnitXml.fromfile(f"{sys.argv[1]}/{name}/junit.xml")
    return {suite.name: (suite.tests, suite.failures, suite.errors, suite.skipped) for suite in suites if suite.tests}

# tests, failures, errors, skipped
expected = {
    "out": {"quality gates": (3, 1, 0, 1), "hooks": (1, 0, 1, 0), "guardrails": (1, 0, 0, 1), "plan": (1, 0, 0, 0), "agent": (2, 1, 1, 0)},
    "idle": {"agent": (1, 0, 0, 0)},
    "planned": {"plan": (1, 0, 0, 0), "agent": (1, 0, 0, 0)},
    "partial": {"plan": (1, 0, 0, 0), "agent": (1, 0, 0, 1)},
    "failed": {"plan": (1, 0, 0, 0), "agent": (2, 1, 1, 0)},
    "refused": {"quality gates": (3, 0, 0, 3), "agent": (2, 1, 1, 0)},
    "applied": {"changes": (1, 0, 0, 0), "agent": (1, 0, 0, 0)},
    "changed": {"agent": (1, 0, 0, 0)},
    "reviewed": {"review": (2, 0, 0, 2), "plan": (1, 0, 0, 0), "agent": (1, 0, 0, 0)},
    "batch": {"]] > <batch>": (2, 1, 0, 0)},
}
for name, wanted in expected.items():
    assert counts(name) == wanted, (name, counts(name))
print(f"junit: {len(expected)} reports, valid by schema, with the right counts")
PYTHON
