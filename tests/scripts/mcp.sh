#!/usr/bin/env bash
# MCP servers that nobody here wrote, as real processes: two from npm, two from PyPI, and one over HTTP.
#
#   tests/scripts/mcp.sh PROGRAM FOLDER_WITH_NODE_MODULES VENV
set -euo pipefail
program=$(realpath "$1")
bin=$(realpath "$2/node_modules/.bin")
python=$(realpath "$3")/bin
work=$(mktemp -d)
server=
trap 'kill $server 2>/dev/null || true; rm -rf "$work"' EXIT
fail() { echo "$1" >&2; exit 1; }

git_quietly() { git -C "$work/repo" -c user.name=t -c user.email=t@localhost -c commit.gpgsign=false "$@" >/dev/null; }
git init --quiet --initial-branch=main "$work/repo"
printf 'one\n' >"$work/repo/a.txt"
git_quietly add --all
git_quietly commit --message "A first commit"

node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); });' >"$work/port"
port=$(cat "$work/port")
PORT=$port "$bin/mcp-server-everything" streamableHttp >"$work/http.log" 2>&1 &
server=$!
for _ in $(seq 200); do
  curl --silent --output /dev/null "http://127.0.0.1:$port/mcp" && break
  kill -0 "$server" 2>/dev/null || { cat "$work/http.log" >&2; exit 1; }
  sleep 0.05
done

cat >"$work/architect.yml" <<YAML
mcp:
  servers:
    - { name: everything, command: "$bin/mcp-server-everything", args: [stdio] }
    - { name: files, command: "$bin/mcp-server-filesystem", args: ["$work/repo"] }
    - { name: git, command: "$python/mcp-server-git", args: [--repository, "$work/repo"] }
    - { name: time, command: "$python/mcp-server-time", args: [--local-timezone, Europe/Berlin] }
    - { name: http, url: "http://127.0.0.1:$port/mcp" }
YAML
call() { printf '{"id":"%s","name":"%s","arguments":%s}' "$1" "$2" "$3"; }
{
  printf '{"type":"reply","agent":"build","step":1,"calls":[%s]}\n' "$(
    IFS=,
    calls=(
      "$(call 1 mcp_everything_echo '{"message":"hello"}')"
      "$(call 2 mcp_everything_get-sum '{"a":2,"b":3}')"
      "$(call 3 mcp_everything_get-tiny-image '{}')"
      "$(call 4 mcp_everything_get-structured-content '{"location":"Chicago"}')"
      "$(call 5 mcp_files_read_text_file "{\"path\":\"$work/repo/a.txt\"}")"
      "$(call 6 mcp_files_write_file "{\"path\":\"$work/repo/b.txt\",\"content\":\"two\\n\"}")"
      "$(call 7 mcp_files_read_text_file '{"path":"/etc/passwd"}')"
      "$(call 8 mcp_git_git_log "{\"repo_path\":\"$work/repo\"}")"
      "$(call 9 mcp_time_get_current_time '{"timezone":"UTC"}')"
      "$(call 10 mcp_time_get_current_time '{"timezone":"Nowhere/Atlantis"}')"
      "$(call 11 mcp_http_echo '{"message":"over http"}')"
      "$(call 12 mcp_everything_echo '{"massage":"hello"}')"
    )
    echo "${calls[*]}"
  )"
  printf '{"type":"reply","agent":"build","step":2,"text":"done"}\n'
} >"$work/script.jsonl"

run() {
  CI=true "$program" run --quiet --workspace "$work/repo" --config "$work/architect.yml" --task "Use what there is" \
    --model "replay::$work/script.jsonl" --mode "$1" --out "$work/$1" >/dev/null
}
run dry-run
[ ! -e "$work/repo/b.txt" ] || fail "the dry run wrote by way of a server"
run yolo
[ "$(cat "$work/repo/b.txt")" = two ] || fail "the server did not write"
python3 - "$work/dry-run/transcript.jsonl" "$work/yolo/transcript.jsonl" <<'PYTHON'
import json
import sys

EXPECTED = {
    "1": (True, "Echo: hello"),
    "2": (True, "5"),
    "3": (True, "[image, image/png"),
    "4": (True, "temperature"),
    "5": (True, "one"),
    "6": (True, "b.txt"),
    "7": (False, "ccess denied"),
    "8": (True, "A first commit"),
    "9": (True, "UTC"),
    "10": (False, "Nowhere/Atlantis"),
    "11": (True, "Echo: over http"),
    "12": (False, "Invalid arguments"),
}
for path in sys.argv[1:]:
    calls = [event for event in map(json.loads, open(path)) if event["type"] == "call"]
    assert len(calls) == len(EXPECTED), [event for event in map(json.loads, open(path)) if event["type"] == "notice"]
    for call in calls:
        success, text = EXPECTED[call["id"]]
        planned = call["outcome"] == "planned"
        assert planned or (call["success"] == success and text in call["result"]), (path, call)
    planned = [call["id"] for call in calls if call["outcome"] == "planned"]
    assert "6" not in planned or "dry-run" in path, planned
    print(f"{len(calls)} calls of real MCP servers, {len(planned)} of them planned")
PYTHON
if pgrep --full "$work/repo" >/dev/null; then fail "a server was left behind"; fi
