#!/usr/bin/env python3
"""Measures what the sandbox costs: a command that looks and one that works, beyond what bash alone takes, on a checkout of
many files, and a gate of `cargo test` on the planned state against the same in the checkout.

    tests/scripts/sandbox-cost.py [PROGRAM] [--files 20000] [--commands 30] [--rounds 5] [--no-cargo] [--check]

A model that thinks for a moment asks for one command after the other. A command's cost is the time from its answer to the next
request, less the same for a call that reads a file of one line, and less what bash takes for the same line. The gate and the
command in the checkout begin with the same build, at the same path, and compile the same change; gates on the state before the
change have ended by then. With `--check` the script fails where a median is beyond its target.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from model_server import KEY, ModelServer

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("program", nargs="?", default="target/dist/architect-ci", type=Path)
parser.add_argument("--files", type=int, default=20_000)
parser.add_argument("--commands", type=int, default=30)
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument("--no-cargo", action="store_true", help="leave the gate out")
parser.add_argument("--check", action="store_true", help="fail beyond the targets")
parser.add_argument("--thinks", type=float, default=0.05, help="seconds that the model takes for an answer")
options = parser.parse_args()
program = options.program.resolve(strict=True)
scratch = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
work = Path(scratch.name)
environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ} | {"CI": "true", "OPENAI_API_KEY": KEY}


def git(repo, *arguments):
    identity = ["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false"]
    subprocess.run(["git", *identity, *arguments], cwd=repo, env=environment, check=True, capture_output=True)


def commit(repo):
    git(repo, "init", "--quiet")
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "--message", "before")


def timed(arguments, cwd, expected=0):
    started = time.perf_counter()
    done = subprocess.run(arguments, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    elapsed = time.perf_counter() - started
    if done.returncode != expected:
        sys.exit(f"{arguments} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return elapsed * 1000


def run(repo, mode, calls, thinks=options.thinks):
    """Returns the milliseconds of each turn of a run, and its report."""
    out = work / "out"
    shutil.rmtree(out, ignore_errors=True)
    with ModelServer(calls, thinks) as server:
        arguments = [program, "run", "--quiet", "--task", "x", "--mode", mode, *server.flags(), "--max-steps", "1000"]
        timed([*arguments, "--workspace", repo, "--out", out], work)
        server.shutdown()
        return server.turns(), json.loads((out / "report.json").read_text())


def checkout(files):
    repo = work / "large"
    for at in range(files):
        path = repo / f"group{at % 40}" / f"part{at // 40 % 25}" / f"file{at}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"file {at}\n")
    (repo / "Makefile").write_text("work:\n\t@echo more >> group1/part0/file1.txt\nlook:\n\t@true\n")
    (repo / ".architect.yml").write_text("llm: { stream: false }\nevaluation: off\ndry_run: { commands: isolated }\n")
    commit(repo)
    return repo


def command_cost(repo, mode, line):
    """Returns, for each round, the milliseconds of one command beyond bash's own."""
    bare = repo.with_name("bare")
    if not bare.exists():
        shutil.copytree(repo, bare, symlinks=True)
    # The same call again and again would be taken for a loop.
    lines = [line.format(at % 40) for at in range(options.commands)]
    calls = [("run_command", {"command": line}) for line in lines]
    reads = [("read_file", {"path": f"group{at % 40}/part0/file{at % 40}.txt", "limit": 1 + at}) for at in range(options.commands)]
    costs = []
    for _ in range(options.rounds):
        alone = statistics.median(timed(["bash", "-c", line], bare) for line in lines)
        base, _ = run(repo, mode, reads)
        turns, report = run(repo, mode, calls)
        bad = [call for call in report["calls"] if call.get("exit_code") != 0]
        if bad or len(report["calls"]) != options.commands:
            sys.exit(f"{line} in {mode}: {bad[:1] or report['calls'][:1]}")
        git(repo, "checkout", "--quiet", "--", ".")
        # The first command makes what the others find.
        costs.append(statistics.median(turns[1:]) - statistics.median(base[1:]) - alone)
    return costs


CARGO = {
    "Cargo.toml": '[package]\nname = "gate"\nversion = "0.1.0"\nedition = "2021"\n\n[workspace]\n',
    ".gitignore": "target/\n",
    "src/lib.rs": "".join(f"pub mod part{at};\n" for at in range(60)),
    **{
        f"src/part{at}.rs": "".join(
            f"#[derive(Clone, Debug, Default, PartialEq)]\npub struct Item{n} {{ pub a: u64, pub b: String, pub c: Vec<u8> }}\n"
            for n in range(12)
        )
        + "#[test]\nfn holds() {\n    assert_eq!(Item0::default(), Item0::default().clone());\n}\n"
        for at in range(60)
    },
}


def gate_ratio():
    """Returns, for each round, the time of a gate on the planned state over that of the same command in the checkout."""
    repo, saved = work / "crate", work / "crate-saved"
    for name, text in CARGO.items():
        path = repo / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (repo / ".architect.yml").write_text(
        "llm: { stream: false }\nevaluation: off\n"
        "guardrails:\n  quality_gates:\n    - { name: tests, command: cargo test --quiet --offline, timeout: 600 }\n"
    )
    timed(["cargo", "test", "--quiet", "--offline"], repo)
    commit(repo)
    subprocess.run(["cp", "-a", repo, saved], check=True)
    ratios = []
    for at in range(options.rounds):
        text = f"\npub const EDITED: u8 = {at};\n"
        with (repo / "src/part1.rs").open("a") as file:
            file.write(text)
        alone = timed(["cargo", "test", "--quiet", "--offline"], repo)
        shutil.rmtree(repo)
        subprocess.run(["cp", "-a", saved, repo], check=True)
        # The gate on the state before the change ends while the model thinks.
        calls = [("write_file", {"path": "src/part1.rs", "content": text, "mode": "append"})]
        _, report = run(repo, "dry-run", calls, thinks=4 * alone / 1000)
        (gate,) = report["gates"]
        if not gate["passed"]:
            sys.exit(f"the gate failed: {gate}")
        ratios.append(gate["duration_ms"] / alone)
    return ratios


def row(name, values, target, unit):
    low, middle, high = min(values), statistics.median(values), max(values)
    good = middle <= target
    print(f"{name:<44} {low:8.2f} {middle:8.2f} {high:8.2f}  {unit:<3} {'≤' if good else '>'} {target}", flush=True)
    return good


print(f"{'beyond bash alone':<44} {'min':>8} {'median':>8} {'max':>8}       target")
large = checkout(options.files)
good = True
for mode in ("yolo", "dry-run"):
    good &= row(f"a look, {mode} (ls)", command_cost(large, mode, "ls group{}"), 3, "ms")
    good &= row(f"a look, {mode} (cat)", command_cost(large, mode, "cat group{0}/part0/file{0}.txt"), 3, "ms")
    good &= row(f"work, {mode} (make, nothing changes)", command_cost(large, mode, "make look AT={}"), 10, "ms")
    good &= row(f"work, {mode} (make, one file changes)", command_cost(large, mode, "make work AT={}"), 10, "ms")
if not options.no_cargo:
    good &= row("cargo test as a gate, planned state : bare", gate_ratio(), 1.1, "×")
sys.exit(0 if good or not options.check else 1)
