"""How often `tests check` names honest commits: walks a repository's last commits that touch tests.

Usage: honest-rate.py PROGRAM REPOSITORY [COUNT]

For each commit that touches a file of tests, its tree is checked out into a throw-away work tree, and PROGRAM judges it
against the commit's first parent. Prints every finding of severity `error`, and the share of commits that have one.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

TESTS = re.compile(r"(^|/)(tests?|__tests__|spec|testing)/|(^|/)test_|_test\.|\.test\.|\.spec\.|Tests?\.java$", re.I)


def git(folder, *args):
    done = subprocess.run(["git", "-C", folder, *args], check=True, capture_output=True, text=True, errors="replace")
    return done.stdout


def commits(repository, count):
    """Returns the last commits with one parent that touch tests, the newest first."""
    log = git(repository, "log", "--no-merges", "--name-only", "--format=%x00%H%x09%s", "--max-count=4000")
    found = []
    for entry in log.split("\0")[1:]:
        head, *files = entry.strip().split("\n")
        commit, subject = head.split("\t", 1)
        if any(TESTS.search(file) for file in files):
            found.append((commit, subject))
    return found[:count]


def main():
    program, repository = (os.path.abspath(path) for path in sys.argv[1:3])
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 150
    todo = commits(repository, count)
    named = broken = 0
    with tempfile.TemporaryDirectory() as folder:
        tree = os.path.join(folder, "tree")
        subprocess.run(["git", "clone", "-q", "--shared", "--no-checkout", repository, tree], check=True)
        for commit, subject in todo:
            git(tree, "checkout", "-q", "--force", "--detach", commit)
            git(tree, "clean", "-q", "-fdx")
            done = subprocess.run(
                [program, "tests", "check", "--base", commit + "^", "--json"],
                cwd=tree, capture_output=True, text=True, errors="replace",
            )
            if done.returncode not in (0, 1):
                broken += 1
                print(f"{commit[:10]} not judged ({done.returncode}): {done.stderr.strip()}")
                continue
            errors = [each for each in json.loads(done.stdout)["findings"] if each["severity"] == "error"]
            named += bool(errors)
            if errors:
                print(f"{commit[:10]} {subject}")
            for each in errors:
                print(f"    {each['path']}:{each['line']} {each['kind']}: {each['message']}")
    judged = len(todo) - broken
    share = 100 * named / judged if judged else 0
    print(f"{named} of {judged} commits have an error ({share:.1f} %)")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
