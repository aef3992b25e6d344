#!/usr/bin/env python3
"""Measures what a structural recipe costs that changes 30,000 places in 5,000 files, as a dry run and for real.

    tests/scripts/recipe-cost.py [PROGRAM] [--files 5000] [--ast-grep PROGRAM] [--check]

Prints the processor time (user and system, which depends less on other work on the machine than the time that passes), the peak
memory, and the size of what is written. With `--ast-grep` (npm's `@ast-grep/cli`), its command line follows the same rule, without the
import, which it cannot add; its search alone stands beside the dry run. With `--check`, more than twice its processor time or more
than 60 MB is an error.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLACES = 6
MAX_MB, MAX_TIMES = 60, 2

RECIPE = """\
steps:
  - files: ["**/*.py"]
    do:
      - rewrite:
          rule: { pattern: datetime.utcnow() }
          fix: datetime.now(UTC)
          imports: { add: [from datetime import UTC] }
"""
RULE = "id: clock\nlanguage: python\nrule: { pattern: datetime.utcnow() }\nfix: datetime.now(UTC)\n"


def text(number: int) -> str:
    """Returns a file of 70 lines with six places."""
    functions = [
        f"def reading_{part}(sensor, limit={part}):\n"
        f"    values = [value for value in sensor.values if value > limit]\n"
        f"    total = sum(values) / len(values)\n"
        f"    started = datetime.utcnow()\n"
        f"    for attempt in range({number % 7 + 1}):\n"
        f'        log.debug("attempt %s of %s", attempt, sensor.name)\n'
        f"        if sensor.send(total, attempt):\n"
        f"            break\n"
        f'    return {{"sensor": sensor.name, "total": total, "started": started.isoformat()}}\n'
        for part in range(PLACES)
    ]
    return "import logging\nfrom datetime import datetime\n\nlog = logging.getLogger(__name__)\n\n\n" + "\n\n".join(functions)


def checkout(folder: Path, files: int) -> None:
    for number in range(files):
        path = folder / f"package_{number % 50}/module_{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text(number))
    git = ["git", "-C", str(folder), "-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "commit.gpgsign=false"]
    for arguments in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message=before"]):
        subprocess.run([*git, *arguments], check=True)


def measured(name: str, folder: Path, command: list) -> tuple:
    """Runs a command. Returns the seconds of processor time that it took, and its peak memory in MB."""
    done = subprocess.run(["/usr/bin/time", "-f", "%U %S %M", *map(str, command)], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    said, _, figures = done.stderr.strip().rpartition("\n")
    if done.returncode != 0:
        sys.exit(f"{name} failed\n{done.stderr[-2000:]}")
    user, system, kilobytes = figures.split()
    seconds, megabytes = float(user) + float(system), int(kilobytes) / 1000
    print(f"{name:24} {seconds:5.2f} s of processor time ({user} user), {megabytes:5.1f} MB", flush=True)
    return seconds, megabytes


def sizes(out: Path) -> str:
    return ", ".join(f"{path.name} {path.stat().st_size / 1e6:.1f} MB" for path in sorted(out.iterdir()) if path.stat().st_size >= 100_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", type=Path, default=ROOT / "target/dist/architect-ci")
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--ast-grep", type=Path)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    program = given.program.resolve()
    # The targets are those of a machine with two processors: each more takes memory of its own.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        ours, theirs, out = base / "ours", base / "theirs", base / "out"
        checkout(ours, given.files)
        shutil.copytree(ours, theirs)
        (base / "recipe.yml").write_text(RECIPE)
        (base / "rule.yml").write_text(RULE)
        run = [program, "run", "--model", f"recipe::{base / 'recipe.yml'}", "--workspace", ours, "--out", out]
        figures = [measured("dry run", ours, run)]
        print("  ", sizes(out))
        figures.append(measured("for real", ours, [*run, "--mode", "yolo"]))
        print("  ", sizes(out))
        done = sum(len(re.findall(r"datetime\.now\(UTC\)", path.read_text())) for path in ours.rglob("*.py"))
        if done != PLACES * given.files:
            sys.exit(f"{done} places were changed, not {PLACES * given.files}")
        failed = [f"{megabytes:.1f} MB are more than {MAX_MB} MB" for _, megabytes in figures if megabytes > MAX_MB]
        if given.ast_grep:
            scan = [given.ast_grep.resolve(), "scan", "--rule", base / "rule.yml"]
            alone = [measured("ast-grep, search", theirs, [*scan, "--json=stream"]), measured("ast-grep, for real", theirs, [*scan, "--update-all"])]
            for (seconds, _), (its, _) in zip(figures, alone):
                print(f"   {seconds / its:.1f} times the processor time")
                if seconds > MAX_TIMES * its:
                    failed.append(f"{seconds:.1f} s are more than {MAX_TIMES} × {its:.1f} s")
        if given.check and failed:
            sys.exit("\n".join(failed))


main()
