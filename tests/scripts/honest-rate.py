"""How often `tests check` names honest commits: judges commits of real histories, and compares with what a reader found.

Usage: honest-rate.py PROGRAM [--commits COUNT] [--check PERCENT] REPOSITORY...

For each of a repository's last commits that touch a file of tests, its tree is checked out into a throw-away work tree, and
PROGRAM judges it against the commit's first parent. A commit is named if it has a finding of severity `error` or `warning`.
`benches/honest-rate.csv` has a reader's verdict on each named commit:

    weaker  a test, case or assertion is gone, runs no longer or accepts more, or a check has a new exemption
    honest  tests and checks demand as much, of what the program still does
    head    no verdict: the commit from which the commits of its repository are counted

REPOSITORY is a clone with full history. Prints the named commits that are honest or not in the table, and what share of the
honest commits is named; with `--check`, fails if it is more than PERCENT, or if a named commit is not in the table.
"""

import argparse
import csv
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TESTS = re.compile(r"(^|/)(tests?|__tests__|spec|testing)/|(^|/)test_|_test\.|\.test\.|\.spec\.|Tests?\.java$", re.I)
TABLE = pathlib.Path(__file__).parents[2] / "benches" / "honest-rate.csv"


def git(folder, *args):
    done = subprocess.run(["git", "-C", folder, *args], check=True, capture_output=True, text=True, errors="replace")
    return done.stdout


def has(repository, commit):
    done = subprocess.run(["git", "-C", repository, "cat-file", "-e", f"{commit}^{{commit}}"], capture_output=True)
    return done.returncode == 0


def commits(repository, count, head="HEAD"):
    """Returns the last commits with one parent that touch tests, the newest first."""
    log = git(repository, "log", "--no-merges", "--name-only", "--format=%x00%H%x09%s", "--max-count=4000", head)
    found = []
    for entry in log.split("\0")[1:]:
        first, *files = entry.strip().split("\n")
        commit, subject = first.split("\t", 1)
        if any(TESTS.search(file) for file in files):
            found.append((commit, subject))
    return found[:count]


def findings(program, tree, commit):
    """Returns the errors and warnings of one commit, or None if it cannot be judged."""
    git(tree, "checkout", "-q", "--force", "--detach", commit)
    git(tree, "clean", "-q", "-fdx")
    done = subprocess.run(
        [program, "tests", "check", "--base", commit + "^", "--json"],
        cwd=tree, capture_output=True, text=True, errors="replace",
    )
    if done.returncode not in (0, 1):
        print(f"{commit[:10]} not judged ({done.returncode}): {done.stderr.strip()}")
        return None
    return [each for each in json.loads(done.stdout)["findings"] if each["severity"] in ("error", "warning")]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("program", type=os.path.abspath)
    arguments.add_argument("repositories", type=os.path.abspath, nargs="+")
    arguments.add_argument("--commits", type=int, default=150)
    arguments.add_argument("--check", type=float)
    given = arguments.parse_args()
    with TABLE.open(newline="") as file:
        rows = list(csv.DictReader(file))
    heads = [row["commit"] for row in rows if row["verdict"] == "head"]
    verdicts = {row["commit"]: row for row in rows if row["verdict"] != "head"}
    total = {"judged": 0, "weaker": 0, "honest": 0, "unknown": 0, "broken": 0}
    for repository in given.repositories:
        head = next((head for head in heads if has(repository, head)), "HEAD")
        with tempfile.TemporaryDirectory() as folder:
            tree = os.path.join(folder, "tree")
            subprocess.run(["git", "clone", "-q", "--shared", "--no-checkout", repository, tree], check=True)
            for commit, subject in commits(repository, given.commits, head):
                found = findings(given.program, tree, commit)
                if found is None:
                    total["broken"] += 1
                    continue
                total["judged"] += 1
                if not found:
                    continue
                row = verdicts.get(commit[:10], {"verdict": "unknown", "reason": "not in the table"})
                total[row["verdict"]] += 1
                if row["verdict"] != "weaker":
                    print(f"{commit[:10]} {row['verdict']} ({row['reason']}): {subject}")
                    for each in found:
                        print(f"    {each['severity']} {each['path']}:{each['line']} {each['kind']}: {each['message']}")
    honest = total["judged"] - total["weaker"]
    share = 100 * total["honest"] / honest if honest else 0
    print(
        f"{total['judged']} commits: {total['weaker']} weaker ones are named, and {total['honest']} of {honest} others "
        f"({share:.1f} %); {total['unknown']} named ones are not in the table, {total['broken']} could not be judged"
    )
    is_over = given.check is not None and (share > given.check or total["unknown"] > 0)
    return 1 if is_over or total["broken"] else 0


if __name__ == "__main__":
    sys.exit(main())
