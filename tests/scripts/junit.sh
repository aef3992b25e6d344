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
xmllint --noout --schema "$tests/jenkins-junit-10.xsd" "$work/out/junit.xml"
"$python" - "$work/out/junit.xml" <<'PYTHON'
import sys
from junitparser import JUnitXml

suites = {suite.name: suite for suite in JUnitXml.fromfile(sys.argv[1])}
counts = {name: (suite.tests, suite.failures, suite.errors, suite.skipped) for name, suite in suites.items()}
expected = {
    "quality gates": (3, 1, 0, 1),
    "hooks": (1, 0, 1, 0),
    "guardrails": (1, 0, 0, 1),
    "plan": (1, 0, 0, 0),
    "agent": (2, 0, 1, 1),
}
assert counts == expected, counts
print("junit: valid by schema, five suites with the right counts")
PYTHON
