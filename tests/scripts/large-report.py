#!/usr/bin/env python3
"""Leaves the report of a run with 300 calls and 600 files whose gate fails.  large-report.py PROGRAM OUT"""
import json
import pathlib
import subprocess
import sys
import tempfile

CALLS, FILES = 300, 600
program, out = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
with tempfile.TemporaryDirectory() as folder:
    repository = pathlib.Path(folder) / "shop"
    paths = [f"src/package_{number % 12}/module_{number}.py" for number in range(FILES)]
    for path in paths:
        (repository / path).parent.mkdir(parents=True, exist_ok=True)
        (repository / path).write_text("def price(net):\n    return net * 1.19\n")
    (repository / ".github").mkdir()
    failure = "FAILED test_prices.py::test_rounding - 3.57 is not 3.5700000000000003"
    gate = {"name": "tests", "command": f"! grep -rq 'round(' src || {{ echo '{failure}'; exit 1; }}"}
    config = {"guardrails": {"quality_gates": [gate], "max_files_modified": FILES}}
    (repository / ".github/architect.yml").write_text(json.dumps(config))
    git = ["git", "-C", str(repository), "-c", "user.name=sample", "-c", "user.email=sample@localhost", "-c", "commit.gpgsign=false"]
    for arguments in (["init", "--quiet", "--initial-branch=main"], ["add", "--all"], ["commit", "--quiet", "--message=Prices"]):
        subprocess.run([*git, *arguments], check=True)

    def call(number: int) -> dict:
        path = paths[number]
        if number % 10 == 0:
            return {"name": "grep", "arguments": {"pattern": f"price\\(net_{number}", "path": path}}
        if number % 25 == 1:
            return {"name": "edit_file", "arguments": {"path": path, "old_str": "no such text", "new_str": "x"}}
        content = f"def price(net):\n    return round(net * 1.19, 2)  # {number}\n"
        return {"name": "write_file", "arguments": {"path": path, "content": content}}

    calls = [call(number) for number in range(CALLS - 1)]
    rest = "for file in src/package_*/*.py; do sed -i s/1.19/VAT/ \"$file\"; done"
    calls.append({"name": "run_command", "arguments": {"command": rest}})
    turns = [calls[at:at + 20] for at in range(0, CALLS, 20)]
    lines = []
    for step, turn in enumerate(turns, 1):
        named = [{"id": f"{step}-{index}", **one} for index, one in enumerate(turn)]
        lines.append({"type": "reply", "agent": "build", "step": step, "calls": named})
    # What fails goes back to the agent, which answers each time.
    lines += [{"type": "reply", "agent": "build", "step": len(turns) + 1 + again, "text": "Prices are rounded."} for again in range(4)]
    answers = pathlib.Path(folder) / "answers.jsonl"
    answers.write_text("".join(json.dumps(line) + "\n" for line in lines))
    run = [program, "run", "--task", "Round prices", "--workspace", repository, "--model", f"replay::{answers}", "--out", out]
    done = subprocess.run([*run, "--max-steps", "40"], capture_output=True, text=True, check=False)
report = json.loads((out / "report.json").read_text())
found = (done.returncode, len(report["calls"]), len(report["files"]))
if found != (1, CALLS, FILES):
    sys.exit(f"exit code, calls and files are {found}\n{done.stderr[-2000:]}")
