#!/usr/bin/env python3
"""Measures what a batch costs as it grows: time, processor time and memory for 10, 100 and 1,000 tasks.

    tests/scripts/growth.py [PROGRAM] [--recipe] [--check] [COUNT…]

Each task has a recorded model, or with `--recipe` a recipe. With `--check`, more processor time for each task of the largest
batch than two processors have in 25 ms is an error. The checkouts lie in `TMPDIR`; some disks take longer to find room for their
files than everything else takes, so `TMPDIR=/dev/shm` measures the program alone.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from batch_cost import PROGRAM, commit, measured

FILES = 200
MAX_MS = 2 * 25

TURNS = [
    {"calls": [{"id": "1", "name": "read_file", "arguments": {"path": "m1.py"}}]},
    {"calls": [{"id": "2", "name": "write_file", "arguments": {"path": "m1.py", "content": "value = 2\n"}}]},
    {"calls": [{"id": "3", "name": "grep", "arguments": {"pattern": "value"}}]},
    {"text": "Done."},
]
RECIPE = """\
steps:
  - files: ["m1.py"]
    do:
      - replace: { pattern: "value = 1$", with: "value = 2" }
"""


def checkout(folder: Path) -> None:
    folder.mkdir()
    for number in range(FILES):
        (folder / f"m{number}.py").write_text(f"value = {number}\n" * 20)
    (folder / "recipe.yml").write_text(RECIPE)
    commit(folder)


def transcript(path: Path) -> None:
    replies = [json.dumps({"type": "reply", "agent": "build", "step": step, **turn}) for step, turn in enumerate(TURNS, 1)]
    path.write_text("\n".join(replies) + "\n")


def cost_of_task(program: Path, work: Path, kind: dict, count: int) -> float:
    """Runs a batch of `count` tasks, prints a row of the table, and returns the milliseconds of processor time for a task."""
    # Names that no earlier batch has used, because a file system may derive places from them.
    task = {"id": f"b{count}-{{n}}", "task": "Do it", "for_each": {"n": {"lines": f"seq {count}"}}}
    cost = measured(program, work, str(count), {"name": "growth", "defaults": {"mode": "yolo", **kind}, "tasks": [task]})
    milliseconds, processor = cost.seconds / count * 1000, cost.processor / count * 1000
    print(f"| {count:,} | {cost.seconds:.2f} s | {milliseconds:.0f} ms | {processor:.0f} ms | {cost.megabytes:.0f} MB |", flush=True)
    return processor


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", type=Path, default=PROGRAM)
    parser.add_argument("counts", nargs="*", type=int, default=[10, 100, 1000])
    parser.add_argument("--recipe", action="store_true")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_intermixed_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        work = Path(scratch)
        checkout(work / "repository")
        transcript(work / "model.jsonl")
        kind = {"recipe": "recipe.yml"} if arguments.recipe else {"model": f"replay::{work}/model.jsonl"}
        print("| tasks | time | a task | processor time a task | peak memory |\n|--:|--:|--:|--:|--:|")
        costs = {count: cost_of_task(arguments.program.resolve(), work, kind, count) for count in arguments.counts}
    cost = costs[max(costs)]
    if arguments.check and cost > MAX_MS:
        sys.exit(f"a task takes {cost:.0f} ms of processor time; at most {MAX_MS} ms are allowed")


if __name__ == "__main__":
    main()
