#!/usr/bin/env python3
"""What a batch costs as it grows: time and memory for 10, 100 and 1,000 tasks, each with a recorded model.

    tests/scripts/growth.py PROGRAM [COUNT…]

Prints a table. Not a check: how fast a machine is is nothing to fail for.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

program = Path(sys.argv[1]).resolve()
scratch = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
work = Path(scratch.name)
source = work / "repository"
source.mkdir()
for n in range(200):
    (source / f"m{n}.py").write_text(f"value = {n}\n" * 20)
turns = [
    {"calls": [{"id": "1", "name": "read_file", "arguments": {"path": "m1.py"}}]},
    {"calls": [{"id": "2", "name": "write_file", "arguments": {"path": "m1.py", "content": "value = 2\n"}}]},
    {"calls": [{"id": "3", "name": "grep", "arguments": {"pattern": "value"}}]},
    {"text": "Done."},
]
(work / "model.jsonl").write_text("\n".join(json.dumps({"type": "reply", "agent": "build", "step": step + 1, **turn}) for step, turn in enumerate(turns)) + "\n")
git = ["git", "-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false"]
for arguments in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", "before"]):
    subprocess.run([*git, *arguments], cwd=source, check=True)

print("| tasks | time | a task | peak memory |\n|--:|--:|--:|--:|")
for count in [int(text) for text in sys.argv[2:]] or [10, 100, 1000]:
    batch = {
        "name": "growth",
        "defaults": {"mode": "yolo", "model": f"replay::{work}/model.jsonl"},
        "tasks": [{"id": "t{n}", "task": "Do it", "for_each": {"n": {"lines": f"seq {count}"}}}],
    }
    (work / "batch.yml").write_text(json.dumps(batch))
    out = work / f"out-{count}"
    command = ["/usr/bin/time", "-f", "%M", str(program), "batch", str(work / "batch.yml"), "--quiet", "--out", str(out)]
    started = time.monotonic()
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, env={"PATH": os.environ["PATH"], "CI": "true"})
    took = time.monotonic() - started
    assert done.returncode == 0, done.stderr[-2000:]
    memory = int(re.findall(r"\d+", done.stderr)[-1]) / 1024
    print(f"| {count} | {took:.2f} s | {took / count * 1000:.0f} ms | {memory:.0f} MB |", flush=True)
