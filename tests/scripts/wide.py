#!/usr/bin/env python3
"""Measures a batch of four tasks, each for a folder, in a repository of 100,000 files: with whole worktrees, and with sparse ones.

    tests/scripts/wide.py [PROGRAM] [--files 100000] [--check]

With `--check`, sparse worktrees that take more than a fifth of the processor time of whole ones are an error. The checkouts lie in
`TMPDIR`, and need 3 GB there.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from batch_cost import PROGRAM, commit, measured

FOLDERS, TASKS = 400, 4
MAX_SHARE = 0.2

RECIPE = """\
steps:
  - files: ["**/*.txt"]
    containing: "value 1$"
    do:
      - replace: { pattern: "value 1$", with: "value 2" }
"""


def checkout(folder: Path, files: int) -> None:
    for number in range(files):
        path = folder / f"package{number % FOLDERS}/file{number // FOLDERS}.txt"
        if number < FOLDERS:
            path.parent.mkdir(parents=True)
        path.write_text(f"value {number // FOLDERS}\n")
    (folder / "recipe.yml").write_text(RECIPE)
    commit(folder)


def processor_time(program: Path, work: Path, name: str, more: dict) -> float:
    """Runs a batch, prints a row of the table, and returns the seconds of processor time."""
    task = {"id": "t{n}", "recipe": "recipe.yml", "folder": "package{n}", "for_each": {"n": {"values": [str(n) for n in range(TASKS)]}}}
    batch = {"name": "wide", "defaults": {"mode": "yolo", "deliver": "patch", **more}, "tasks": [task]}
    cost = measured(program, work, name, batch)
    print(f"| {name} | {cost.seconds:.1f} s | {cost.processor:.1f} s | {cost.megabytes:.0f} MB |", flush=True)
    return cost.processor


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", type=Path, default=PROGRAM)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        work = Path(scratch)
        checkout(work / "repository", arguments.files)
        print("| worktrees | time | processor time | peak memory |\n|--|--:|--:|--:|")
        sparse, whole = (processor_time(arguments.program.resolve(), work, name, more) for name, more in (("sparse", {"sparse": []}), ("whole", {})))
    if arguments.check and sparse > whole * MAX_SHARE:
        sys.exit(f"sparse worktrees take {sparse / whole:.0%} of the processor time of whole ones; at most {MAX_SHARE:.0%} are allowed")


if __name__ == "__main__":
    main()
