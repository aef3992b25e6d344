#!/usr/bin/env python3
"""A trace, read by the format's own definition (the package `opentelemetry-proto`): every field is known to it.

    tests/scripts/telemetry.py PROGRAM

To be run by a Python that has the package.
"""

import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

program = Path(sys.argv[1]).resolve()
scratch = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
work = Path(scratch.name)
taken = []


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        taken.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=server.serve_forever, daemon=True).start()
(work / "repo").mkdir()
(work / "repo/.architect.yml").write_text(
    f"telemetry: {{enabled: true, content: true, endpoint: 'http://127.0.0.1:{server.server_port}'}}\n"
    "guardrails: {quality_gates: [{name: red, command: 'exit 3', required: false}]}\n"
    "hooks: {pre_tool_use: [{name: look, command: 'true'}]}\n"
)
explore = {"id": "2", "name": "dispatch_subagent", "arguments": {"task": "look", "agent_type": "explore"}}
replies = [
    {"agent": "build", "step": 1, "calls": [{"id": "1", "name": "write_file", "arguments": {"path": "a", "content": "ü\u0000"}}, explore]},
    {"agent": "explore-1", "step": 1, "text": "Nothing.", "usage": {"input": 5, "output": 2}},
    {"agent": "build", "step": 2, "text": "Done.", "usage": {"input": 123, "cached": 100, "output": 4}},
]
(work / "model.jsonl").write_text("".join(json.dumps({"type": "reply", **reply}) + "\n" for reply in replies))
subprocess.run(
    [program, "run", "--quiet", "--workspace", work / "repo", "--task", "x", "--model", f"replay::{work}/model.jsonl", "--out", work / "out"],
    check=True, stdout=subprocess.DEVNULL, env={"PATH": os.environ["PATH"], "CI": "true"},
)
[(path, body)] = taken
assert path == "/v1/traces", path
# The format's JSON has ids in hexadecimal, where protobuf's own would have Base64; everything else is the same.
request = json_format.Parse(body, ExportTraceServiceRequest())
spans = request.resource_spans[0].scope_spans[0].spans
names = sorted(span.name for span in spans)
expected = ["chat model.jsonl"] * 3 + ["execute_tool dispatch_subagent", "execute_tool write_file", "gate red", "hook look", "hook look", "invoke_agent build", "invoke_agent explore-1"]
assert names == sorted(expected), names
by_id = {span.span_id: span for span in spans}
for span in spans:
    assert span.end_time_unix_nano >= span.start_time_unix_nano > 0
    assert not span.parent_span_id or span.parent_span_id in by_id, span.name
[gate] = [span for span in spans if span.name == "gate red"]
assert gate.status.code == 2
usage = [attribute.value.int_value for span in spans for attribute in span.attributes if attribute.key == "gen_ai.usage.input_tokens"]
assert sorted(usage) == [0, 5, 123], usage
print(f"telemetry: {len(spans)} spans, read by opentelemetry-proto")
