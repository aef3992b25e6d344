#!/usr/bin/env python3
"""Leaves the page of a batch with three tasks, of which one fails at its gate.  batch-page.py PROGRAM OUT"""
import json
import pathlib
import subprocess
import sys
import tempfile

program, out = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
with tempfile.TemporaryDirectory() as folder:
    repository = pathlib.Path(folder) / "shop"
    for number in (1, 2, 3):
        (repository / f"part{number}").mkdir(parents=True)
        (repository / f"part{number}/a.py").write_text(f"def a():\n    return {number}\n")
    git = ["git", "-C", str(repository), "-c", "user.name=sample", "-c", "user.email=sample@localhost", "-c", "commit.gpgsign=false"]
    for arguments in (["init", "--quiet", "--initial-branch=main"], ["add", "--all"], ["commit", "--quiet", "--message=Parts"]):
        subprocess.run([*git, *arguments], check=True)
    call = {"id": "1", "name": "write_file", "arguments": {"path": "b.py", "content": "def b():\n    return 1\n"}}
    replies = [{"calls": [call]}, {"text": "Done."}, {"text": "The gate fails for another reason."}]
    lines = [{"type": "reply", "agent": "build", "step": step} | reply for step, reply in enumerate(replies, 1)]
    answers = pathlib.Path(folder) / "answers.jsonl"
    answers.write_text("".join(json.dumps(line) + "\n" for line in lines))
    common = {"task": "Write b.py", "model": f"replay::{answers}"}
    gate = {"name": "tests", "command": "test ! -e b.py || { echo 'FAILED test_b.py::test_b'; exit 1; }"}
    tasks = [
        {"id": "b {part}", "folder": "{part}", "for_each": {"part": {"values": ["part1", "part2"]}}} | common,
        {"id": "fails", "folder": "part3", "gates": [gate]} | common,
    ]
    batch = pathlib.Path(folder) / "nightly.yml"
    batch.write_text(json.dumps({"name": "nightly", "tasks": tasks}))
    run = subprocess.run([program, "batch", batch, "--out", out], cwd=repository, capture_output=True, text=True)
    if run.returncode not in (1, 2) or not (out / "batch.html").is_file():
        sys.exit(f"the batch ended with {run.returncode}:\n{run.stdout}{run.stderr}")
