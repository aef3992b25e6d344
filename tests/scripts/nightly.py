#!/usr/bin/env python3
"""A nightly job on source that nobody here wrote (the sdist of `requests`): fifty generated tasks with recorded
models, four at a time, killed twice, resumed, one report.

    tests/scripts/nightly.py PROGRAM PIP
"""

import json
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

program, pip = Path(sys.argv[1]).resolve(), sys.argv[2]
scratch = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
work = Path(scratch.name)
subprocess.run([pip, "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest", work, "requests==2.32.3"], check=True)
with tarfile.open(work / "requests-2.32.3.tar.gz") as archive:
    archive.extractall(work, filter="data")
source = work / "requests-2.32.3"
environment = {"PATH": os.environ["PATH"], "CI": "true", "HOME": str(work)}


def git(*arguments):
    identity = ["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *identity, *arguments], cwd=source, check=True, capture_output=True, text=True)
    return done.stdout


files = sorted(str(path.relative_to(source)) for path in source.glob("src/requests/*.py")) + sorted(
    str(path.relative_to(source)) for path in source.glob("tests/*.py")
)
files = files[:25]
assert len(files) == 25, len(files)
models = work / "models"
models.mkdir()
for file in files:
    for rule in ("head", "tail"):
        first = (source / file).read_text().splitlines()[0]
        edit = (
            {"name": "edit_file", "arguments": {"path": file, "old_str": (source / file).read_text()[:400], "new_str": "# checked\n" + (source / file).read_text()[:400]}}
            if rule == "head"
            else {"name": "write_file", "arguments": {"path": file, "content": "\n# checked\n", "mode": "append"}}
        )
        turns = [
            {"calls": [{"id": "1", "name": "read_file", "arguments": {"path": file}}, {"id": "2", "name": "grep", "arguments": {"pattern": "import", "path": file}}]},
            {"calls": [{"id": "3", **edit}]},
            {"calls": [{"id": "4", "name": "run_command", "arguments": {"command": f"git diff --stat -- {file}"}}]},
            {"text": f"{first} is checked."},
        ]
        lines = [json.dumps({"type": "reply", "agent": "build", "step": step + 1, "usage": {"input": 1000, "output": 50}, **turn}) for step, turn in enumerate(turns)]
        recorded = models / f"{file}-{rule}.jsonl"
        recorded.parent.mkdir(parents=True, exist_ok=True)
        recorded.write_text("\n".join(lines) + "\n")
(source / "files.txt").write_text("\n".join(files) + "\n")
(source / "nightly.yml").write_text(
    f"""
name: nightly
jobs: 4
defaults: {{ mode: yolo, deliver: patch }}
tasks:
  - id: "{{file}} {{rule}}"
    task: "Check {{file}} at its {{rule}}"
    model: "replay::{models}/{{file}}-{{rule}}.jsonl"
    for_each:
      file: {{ lines: "cat files.txt" }}
      rule: {{ values: [head, tail] }}
    gates: [{{ name: compiles, command: "python3 -m py_compile {{file}}" }}]
"""
)
git("init", "--quiet", "--initial-branch=main")
git("add", "--all")
git("commit", "--quiet", "--message", "before")

out = work / "out"
command = [program, "batch", "nightly.yml", "--resume", "--out", out]


def ended():
    path = out / "journal.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    found = []
    for line in lines:
        try:
            found.append(json.loads(line))
        except ValueError:
            pass
    return found


def of_kind(kind):
    return [line.get("id") or line["report"]["id"] for line in ended() if line["type"] == kind]


for least in (10, 25):
    child = subprocess.Popen(command, cwd=source, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    begun = time.monotonic()
    while len(of_kind("ended")) < least:
        assert child.poll() is None and time.monotonic() - begun < 120, (child.poll(), of_kind("ended"))
        time.sleep(0.002)
    child.send_signal(signal.SIGKILL)
    child.wait()

before, begun_before = set(of_kind("ended")), len(of_kind("begun"))
assert 25 <= len(before) < 50, len(before)
started = time.monotonic()
done = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True)
took = time.monotonic() - started
assert done.returncode == 0, done.stderr[-3000:]
again = of_kind("begun")[begun_before:]
assert not before & set(again), before & set(again)
report = json.loads((out / "batch.json").read_text())
assert len(report["tasks"]) == 50 and all(task["end"] == "success" for task in report["tasks"])
assert all(task["passed_gates"] == 1 and task["changed_files"] == 1 for task in report["tasks"])
assert report["usage"]["input"] == 200_000, report["usage"]
assert git("worktree", "list").count("\n") == 1 and not (out / ".worktrees").exists()
assert git("status", "--porcelain") == ""
for task in report["tasks"]:
    git("apply", "--check", str(out / task["folder"] / "plan.patch"))
print(f"nightly: 50 tasks on requests 2.32.3, killed at {10} and {25}, the remaining {50 - len(before)} in {took:.1f} s; {done.stdout.splitlines()[0]}")
