#!/usr/bin/env python3
"""Measures what the program adds to a session of 40 steps: reads, searches, edits and commands, with a model server on the
loopback interface that answers at once.

    tests/scripts/session-cost.py [PROGRAM] [--steps 40] [--rounds 5] [--check]

Prints the best round: the time to the first request, the time per turn beyond the tools' own, the peak memory of the program, and
the size of the first request. The tools' own times are whole milliseconds, rounded down, so what they take below one counts as the
turn's: the second line has the median time between two requests by kind of call, from which nothing is subtracted, and the
processor time of a turn with everything in it, which depends less on other work on the machine. Each request has to begin, byte for byte, with the messages of the one before, or providers' caches
are of no use. With `--check`, a first request above 12,000 bytes or a changed prefix is an error; times depend on the machine.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from model_server import KEY, ModelServer

ROOT = Path(__file__).resolve().parent.parent.parent
FIRST = 12_000
PARTS = 200


def call(step):
    """Returns the call of a step: of five kinds, in turns."""
    name = f"src/part{step % 20}.py"
    return [
        ("read_file", {"path": name}),
        ("grep", {"pattern": f"order_{step % PARTS}\\b"}),
        # What an earlier edit of the same file has left.
        ("edit_file", {"path": f"src/part{step % PARTS}.py", "old_str": f"return {step - PARTS if step >= PARTS else 1}", "new_str": f"return {step}"}),
        ("list_files", {"path": "src"}),
        ("run_command", {"command": "git status --short | head -3"}),
    ][step % 5]


def checkout(folder):
    """Makes a repository of some hundred files."""
    for part in range(PARTS):
        path = folder / f"src/part{part}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"def order_{part}():\n    return 1\n" + "# a line\n" * 60)
    (folder / ".architect.yml").write_text("llm: { stream: false }\nevaluation: off\n")
    for line in (["init", "--quiet"], ["add", "--all"], ["-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "--quiet", "--message", "before"]):
        subprocess.run(["git", *line], cwd=folder, check=True)


def messages(body):
    """Returns the messages of a request as they were sent, without the bracket behind them."""
    request = json.loads(body)
    return json.dumps(request["messages"], ensure_ascii=False)[:-1]


def play(program, steps):
    """Plays a session. Returns its figures."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        repository = folder / "repository"
        checkout(repository)
        server = ModelServer([call(step) for step in range(steps)])
        variables = {"PATH": os.environ["PATH"], "HOME": str(folder), "CI": "true", "OPENAI_API_KEY": KEY}
        line = [program, "run", "--task", "Work", "--quiet", "--mode", "yolo", "--max-steps", str(steps + 10)]
        line += [*server.flags(), "--workspace", repository, "--out", folder / "out"]
        started = time.monotonic()
        process = subprocess.Popen(line, env=variables, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        said = process.stdout.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        server.shutdown()
        if status:
            sys.exit(f"the run failed: {said}")
        report = json.loads((folder / "out/report.json").read_text())
        tools = sum(call.get("duration_ms", 0) for call in report["calls"]) / 1000
        seen = server.requests[: steps + 1]
        kept = all(messages(after).startswith(messages(before)) for (_, before), (_, after) in zip(seen, seen[1:]))
        failed = [call for call in report["calls"] if not call["success"]]
        if failed or len(report["calls"]) != steps:
            sys.exit(f"{len(report['calls'])} calls, of which {len(failed)} failed: {failed[:1]}")
        raw = {}
        for step, (before, after) in enumerate(zip(seen, seen[1:])):
            raw.setdefault(call(step)[0], []).append((after[0] - before[0]) * 1000)
        return {
            "processor_ms": (usage.ru_utime + usage.ru_stime) * 1000 / steps,
            "raw": {name: statistics.median(times) for name, times in raw.items()},
            "first_ms": (seen[0][0] - started) * 1000,
            "turn_ms": (seen[-1][0] - seen[0][0] - tools) * 1000 / steps,
            "memory_mb": usage.ru_maxrss / 1024,
            "first_bytes": len(seen[0][1]),
            "kept": kept,
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", nargs="?", default=ROOT / "target/dist/architect-ci")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args()
    played = [play(Path(asked.program).resolve(), asked.steps) for _ in range(asked.rounds)]
    best = {name: min(round[name] for round in played) for name in played[0] if name != "raw"}
    raw = {name: min(round["raw"][name] for round in played) for name in played[0]["raw"]}
    print(f"first request after {best['first_ms']:.1f} ms, {best['first_bytes']:,} bytes; {best['turn_ms']:.2f} ms per turn; {best['memory_mb']:.1f} MB;")
    print(", ".join(f"{name} {time:.2f} ms" for name, time in raw.items()) + f"; {best['processor_ms']:.2f} ms of processor time per turn, start and end included")
    print("each request begins with the messages before" if best["kept"] else "the messages before are NOT kept")
    if asked.check and (best["first_bytes"] > FIRST or not best["kept"]):
        sys.exit(1)


if __name__ == "__main__":
    main()
