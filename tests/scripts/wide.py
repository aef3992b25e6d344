#!/usr/bin/env python3
"""Measures a batch of four tasks, each for a folder, in a repository of 100,000 files: with whole worktrees, and with sparse ones.

    tests/scripts/wide.py [PROGRAM] [--files 100000] [--check]

With `--check`, sparse worktrees that take more than a fifth of the processor time of whole ones are an error. The checkouts lie in
`TMPDIR`, and need 3 GB there.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
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
    git = ["git", "-C", str(folder), "-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "commit.gpgsign=false"]
    for arguments in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message=before"]):
        subprocess.run([*git, *arguments], check=True)


def measured(program: Path, work: Path, name: str, more: dict) -> float:
    """Runs a batch, prints a row of the table, and returns the seconds of processor time."""
    task = {"id": "t{n}", "recipe": "recipe.yml", "folder": "package{n}", "for_each": {"n": {"values": [str(n) for n in range(TASKS)]}}}
    batch = work / f"{name}.yml"
    batch.write_text(json.dumps({"name": "wide", "defaults": {"mode": "yolo", "deliver": "patch", **more}, "tasks": [task]}))
    command = ["/usr/bin/time", "-f", "%U %S %M", str(program), "batch", str(batch), "--quiet", "--out", str(work / name)]
    environment = {"CI": "true", **{name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}}
    started = time.monotonic()
    done = subprocess.run(command, cwd=work / "repository", capture_output=True, text=True, env=environment, check=False)
    took = time.monotonic() - started
    if done.returncode != 0:
        sys.exit(f"the batch with {name} worktrees failed\n{done.stderr[-2000:]}")
    user, system, kilobytes = done.stderr.strip().rpartition("\n")[2].split()
    processor = float(user) + float(system)
    print(f"| {name} | {took:.1f} s | {processor:.1f} s | {int(kilobytes) / 1000:.0f} MB |", flush=True)
    return processor


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", type=Path, default=ROOT / "target/dist/architect-ci")
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        work = Path(scratch)
        checkout(work / "repository", arguments.files)
        print("| worktrees | time | processor time | peak memory |\n|--|--:|--:|--:|")
        sparse, whole = (measured(arguments.program.resolve(), work, name, more) for name, more in (("sparse", {"sparse": []}), ("whole", {})))
    if arguments.check and sparse > whole * MAX_SHARE:
        sys.exit(f"sparse worktrees take {sparse / whole:.0%} of the processor time of whole ones; at most {MAX_SHARE:.0%} are allowed")


if __name__ == "__main__":
    main()
