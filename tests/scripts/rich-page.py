#!/usr/bin/env python3
"""Leaves the page of a run that has every section: a refused host, hooks, a sub-agent, a review and a weakened test.
rich-page.py PROGRAM OUT"""
import json
import pathlib
import subprocess
import sys
import tempfile

program, out = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
SECTIONS = ("gates", "test_findings", "guardrails", "hooks", "network", "subagents", "calls")
FILES = {
    "src/price.py": "def price(net):\n    return net\n",
    "tests/test_price.py": "from src.price import price\n\n\ndef test_price():\n    assert price(1) == 1\n",
    ".github/architect.yml": json.dumps({
        "review": {"enabled": True, "max_fix_passes": 0},
        "commands": {"network": {"allow": ["packages.example"]}},
        "dry_run": {"commands": "isolated"},
        "hooks": {"pre_tool_use": [{"name": "look", "command": "true"}]},
        "guardrails": {"protected_files": ["LICENSE"], "quality_gates": [{"name": "compiles", "command": "python3 -m compileall -q src"}]},
    }),
}
request = "import urllib.request; urllib.request.urlopen('https://refused.example/', timeout=5)"
finding = {"file": "src/price.py", "line": 2, "severity": "warning", "confidence": 90, "message": "Doubles the price."}


def calls(*named: tuple[str, dict]) -> list[dict]:
    return [{"id": str(number), "name": name, "arguments": arguments} for number, (name, arguments) in enumerate(named)]


first = calls(
    ("edit_file", {"path": "src/price.py", "old_str": "return net", "new_str": "return net * 2"}),
    ("edit_file", {"path": "tests/test_price.py", "old_str": "assert price(1) == 1", "new_str": "price(1)"}),
    ("write_file", {"path": "LICENSE", "content": "x"}),
    ("run_command", {"command": f'python3 -c "{request}"'}),
    ("dispatch_subagent", {"task": "Where is it?", "agent_type": "explore", "context": "c", "relevant_files": ["src/price.py"]}),
)
# What is found goes back to the agent, which answers each time.
answers = [{"agent": "build", "step": 1, "calls": first}, {"agent": "explore-1", "step": 1, "text": "In `src/price.py`."}]
answers += [{"agent": "build", "step": step, "text": "Done. It is meant so."} for step in range(2, 7)]
answers += [{"agent": "reviewer", "step": 1, "text": json.dumps({"findings": [finding]})}] * 3

with tempfile.TemporaryDirectory() as folder:
    repository = pathlib.Path(folder) / "shop"
    for path, text in FILES.items():
        (repository / path).parent.mkdir(parents=True, exist_ok=True)
        (repository / path).write_text(text)
    git = ["git", "-C", str(repository), "-c", "user.name=sample", "-c", "user.email=sample@localhost", "-c", "commit.gpgsign=false"]
    for arguments in (["init", "--quiet", "--initial-branch=main"], ["add", "--all"], ["commit", "--quiet", "--message=Prices"]):
        subprocess.run([*git, *arguments], check=True)
    replay = pathlib.Path(folder) / "answers.jsonl"
    replay.write_text("".join(json.dumps({"type": "reply"} | answer) + "\n" for answer in answers))
    run = [program, "run", "--task", "Double the price", "--workspace", repository, "--model", f"replay::{replay}", "--out", out]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
report = json.loads((out / "report.json").read_text())
empty = [name for name in SECTIONS if not report.get(name)]
if empty or not report["review"]["findings"]:
    sys.exit(f"the report has no {empty or 'findings'}\n{done.stderr[-3000:]}")
