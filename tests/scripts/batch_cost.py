"""What the measurements of batches have in common: a checkout, and a run of the program with its time and memory."""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "target/dist/architect-ci"


@dataclass
class Cost:
    """What a batch took: seconds, seconds of processor time, and megabytes of memory at its peak."""

    seconds: float
    processor: float
    megabytes: float


def commit(folder: Path) -> None:
    """Makes a repository of a folder, with all of its files in one commit."""
    git = ["git", "-C", str(folder), "-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "commit.gpgsign=false"]
    for arguments in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message=before"]):
        subprocess.run([*git, *arguments], check=True)


def measured(program: Path, work: Path, name: str, batch: dict) -> Cost:
    """Runs a batch in `work/repository`, and ends the program if that fails."""
    path = work / f"{name}.yml"
    path.write_text(json.dumps(batch))
    command = ["/usr/bin/time", "-f", "%U %S %M", str(program), "batch", str(path), "--quiet", "--out", str(work / f"out-{name}")]
    environment = {"CI": "true", **{name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}}
    started = time.monotonic()
    done = subprocess.run(command, cwd=work / "repository", capture_output=True, text=True, env=environment, check=False)
    took = time.monotonic() - started
    if done.returncode != 0:
        sys.exit(f"the batch {name} failed\n{done.stderr[-2000:]}")
    user, system, kilobytes = done.stderr.strip().rpartition("\n")[2].split()
    return Cost(took, float(user) + float(system), int(kilobytes) / 1000)
