#!/usr/bin/env python3
"""Ten thousand tasks on 256 shards: lists them, makes up the shards' reports with failures, loses some shards and
breaks one, merges, and looks whether the sum is right, in time and memory.

    tests/scripts/fan-out.py PROGRAM
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TASKS, SHARDS = 10_000, 256
LOST, BROKEN = {7, 100, 256}, 31

program = Path(sys.argv[1]).resolve()
scratch = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
work = Path(scratch.name)
repository = work / "repository"
repository.mkdir()


def git(*arguments):
    identity = ["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], cwd=repository, check=True, stdout=subprocess.DEVNULL)


def run(*arguments, code=0):
    started = time.monotonic()
    done = subprocess.run([program, *arguments], cwd=repository, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "CI": "true"})
    assert done.returncode == code, (done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout, time.monotonic() - started


(repository / "batch.yml").write_text(
    "name: wide\ntasks:\n- id: 't {n}'\n  task: 'Look at {n}'\n  for_each: {n: {lines: 'seq " + str(TASKS) + "'}}\n"
)
git("init", "--quiet")
git("add", "--all")
git("commit", "--quiet", "--message", "tasks")

listed = work / "list"
matrix, took_list = run("batch", "batch.yml", "--matrix", "--out", str(listed))
include = json.loads(matrix)["include"]
assert len(include) == SHARDS and sum(entry["tasks"] for entry in include) == TASKS, len(include)
assert max(entry["tasks"] for entry in include) - min(entry["tasks"] for entry in include) <= 1
manifest = json.loads((listed / "manifest.json").read_text())

# One shard in earnest, of tasks that fail at once, tells what reports look like.
real = work / "real"
run("batch", "--manifest", str(listed / "manifest.json"), "--shard", f"1/{SHARDS}", "--out", str(real), code=1)
pattern = json.loads((real / "batch.json").read_text())
task_pattern = pattern["tasks"][0]

ids = [task["id"] for task in manifest["tasks"]]
failed = lost = 0
for shard in range(1, SHARDS + 1):
    # All sizes are the same, so shards take turns.
    own = ids[shard - 1 :: SHARDS]
    if shard in LOST or shard == BROKEN:
        lost += len(own)
    if shard in LOST:
        continue
    tasks = []
    for id in own:
        bad = int(id[2:]) % 50 == 0
        failed += bad and shard != BROKEN
        tasks.append(
            {
                **task_pattern,
                "id": id,
                "end": "failed" if bad else "success",
                "usage": {"input": 100, "cached": 0, "output": 10},
                "cost_usd": 0.01,
                "folder": f"tasks/{id}",
                "message": "What the agent said. " * 20,
            }
        )
    folder = work / "artifacts" / f"shard-{shard}"
    folder.mkdir(parents=True)
    text = json.dumps({**pattern, "shard": {"index": shard, "of": SHARDS}, "tasks": tasks, "started_at": f"2026-01-01T00:{shard % 60:02}:00Z"})
    (folder / "batch.json").write_text(text[: len(text) // 2] if shard == BROKEN else text)
assert own == [ids[index] for index in range(SHARDS - 1, TASKS, SHARDS)]

before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
merged = work / "merged"
_, took = run("report", "merge", str(work / "artifacts"), "--manifest", str(listed / "manifest.json"), "--out", str(merged), code=1)
memory = max(before, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) / 1024
report = json.loads((merged / "batch.json").read_text())
ends = [task["end"] for task in report["tasks"]]
assert len(ends) == TASKS and [task["id"] for task in report["tasks"]] == ids
assert (ends.count("lost"), ends.count("failed")) == (lost, failed), (ends.count("lost"), lost, ends.count("failed"), failed)
assert report["lost_shards"] == sorted(LOST | {BROKEN}), report["lost_shards"]
assert report["usage"]["input"] == 100 * (TASKS - lost)
assert abs(report["cost_usd"] - 0.01 * (TASKS - lost)) < 1e-6
assert len((merged / "comment.md").read_text()) <= 65_536
assert (merged / "junit.xml").read_text().count("<testcase ") == TASKS
assert took < 10, took
assert memory < 200, memory
print(f"fan-out: {TASKS} tasks on {SHARDS} shards listed in {took_list:.1f} s, merged in {took:.1f} s with {memory:.0f} MB; {lost} lost, {failed} failed")
