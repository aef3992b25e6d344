#!/usr/bin/env python3
"""What a task costs a model: requests, calls, bytes sent and bytes typed.

    benches/turns/run.py [--check] [--program PROGRAM] [--shown] [TASK …]

Each file of `tasks/` holds a task on a real project and the shortest natural session for it: the calls of a good model that
knows nothing but what each request has shown it. The program works on a checkout of that project and asks a model server on the
loopback interface, which plays the session, counts, and refuses whatever the session knows without having been shown it. What
came out is checked by the project's own tests. README.md beside this file has the format.

With `--check`, a limit that is exceeded is an error. `--shown` prints what the program sent. Sources come from package registries,
by version and hash, and are kept below `target/turns`.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import tomllib
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from sources import Environment, checkout

HERE = Path(__file__).resolve().parent
# How much more than the best of other agents a task may take.
MARGIN = 1.2


class Fault(Exception):
    """Why a task does not count."""


@dataclass
class Task:
    """A task with its session, as its file says."""

    name: str
    kind: str
    language: str
    task: str
    source: dict
    check: str
    turns: list
    mode: str = "yolo"
    config: str = ""
    needs: dict = field(default_factory=dict)
    plant: list = field(default_factory=list)
    add: list = field(default_factory=list)
    peer: dict = field(default_factory=dict)
    limits: dict = field(default_factory=dict)
    variables: dict = field(default_factory=dict)
    min_files: int = 0

    @staticmethod
    def read(path):
        """Returns the task in a file."""
        return Task(name=path.stem, **tomllib.loads(path.read_text()))

    def allowed(self):
        """Returns the most of each number that the task may take."""
        if not self.peer:
            return self.limits
        # Others do not ask their model to check its work against the task, which is one request more.
        best = {"calls": int(self.peer["calls"] * MARGIN), "requests": int(self.peer["requests"] * MARGIN) + 1}
        return best | self.limits


class Player(BaseHTTPRequestHandler):
    """Answers as OpenAI's chat completions do, from the session of `server`."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            message = self.server.session.answer(body)
        except Fault as fault:
            self.server.session.fault = str(fault)
            return self.reply(400, {"error": {"message": str(fault), "type": "invalid_request_error"}})
        usage = {"prompt_tokens": len(body) // 4, "completion_tokens": 50, "total_tokens": len(body) // 4 + 50}
        reason = "tool_calls" if message.get("tool_calls") else "stop"
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return self.reply(200, {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage})

    def reply(self, status, answer):
        payload = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, *_):
        pass


class Session:
    """A session while it is played."""

    def __init__(self, task):
        self.turns = task.turns
        self.requests = self.calls = self.sent = self.typed = 0
        self.first = 0
        self.shown = ""
        self.bodies = []
        self.fault = None

    def answer(self, body):
        """Returns the model's message to a request."""
        request = json.loads(body)
        self.bodies.append(request)
        self.requests += 1
        self.sent += len(body)
        self.first = self.first or len(body)
        self.shown = "\n".join(content(message) for message in request["messages"])
        # Behind the last turn the agent is asked to look at its work again, and ends in the same words.
        turn = self.turns[min(self.requests, len(self.turns)) - 1]
        if self.requests > len(self.turns) + 1:
            raise Fault(f"request {self.requests} is one that the session does not foresee: {self.shown[-500:]}")
        text = turn.get("text", "")
        self.typed += len(text.encode())
        message = {"role": "assistant", "content": text}
        for call in turn.get("calls", []):
            [(name, arguments)] = call.items()
            unknown = not_shown(arguments, self.shown)
            if unknown:
                raise Fault(f"turn {self.requests} types {unknown!r} in {name}, which no request has shown")
            typed = json.dumps(arguments, ensure_ascii=False)
            self.calls += 1
            self.typed += len(name) + len(typed.encode())
            function = {"name": name, "arguments": typed}
            message.setdefault("tool_calls", []).append({"id": f"call_{self.calls}", "type": "function", "function": function})
        return message


def content(message):
    """Returns the text of a message."""
    text = message.get("content") or ""
    return text if isinstance(text, str) else "\n".join(part.get("text", "") for part in text)


def not_shown(arguments, shown):
    """Returns what a call takes from the checkout although nothing has shown it: a path or a line, else None."""
    written = "new_path" in arguments or "content" in arguments
    for name in ("path", "source"):
        path = arguments.get(name, ".")
        if not written and path != "." and any(part not in shown for part in path.split("/")):
            return path
    removed = arguments.get("old_str", "").splitlines()
    patch = arguments.get("patch", "").splitlines()
    removed += [line[1:] for line in patch if line[:1] in (" ", "-") and not line.startswith("---")]
    return next((line for line in removed if line.strip() not in shown), None)


def play(task, program, environment, scratch, shown):
    """Returns the session after the program has played it and the result was checked."""
    folder = scratch / task.name / "checkout"
    files = checkout(task, environment, folder)
    if files < task.min_files:
        raise Fault(f"the source has {files} files, and {task.min_files} were promised")
    session = Session(task)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Player)
    server.session = session
    threading.Thread(target=server.serve_forever, daemon=True).start()
    config = scratch / task.name / "architect.yml"
    config.write_text("llm: { stream: false }\n" + task.config)
    out = scratch / task.name / "out"
    variables = environment.variables() | {"OPENAI_API_KEY": "none", "CI": "true", "HOME": str(scratch)}
    variables |= {name: str(folder / value) for name, value in task.variables.items()}
    base = f"http://127.0.0.1:{server.server_address[1]}/v1/"
    line = [program, "run", "--quiet", "--workspace", folder, "--config", config, "--task", task.task, "--mode", task.mode]
    line += ["--model", "openai::gpt-5", "--base-url", base, "--out", out, "--json"]
    done = subprocess.run(line, env=variables, capture_output=True, text=True)
    server.shutdown()
    if shown:
        show(session)
    if session.fault:
        raise Fault(session.fault)
    if done.returncode != 0:
        raise Fault(f"exit code {done.returncode}: {done.stderr[-2000:]}")
    report = json.loads(done.stdout)
    failed = [f"{call['tool']}: {call.get('error') or call}" for call in report["calls"] if not call["success"]]
    if failed:
        raise Fault("calls failed: " + "; ".join(str(text)[:600] for text in failed))
    if task.mode == "dry-run":
        clean = subprocess.run(["git", "status", "--porcelain"], cwd=folder, capture_output=True, text=True, check=True)
        if clean.stdout:
            raise Fault(f"the dry run changed the checkout: {clean.stdout[:500]}")
        applied = [program, "apply", "--workspace", folder, out / "plan.json"]
        applied = subprocess.run(applied, env=variables, capture_output=True, text=True)
        if applied.returncode != 0:
            raise Fault(f"the plan does not apply: {applied.stderr[-2000:]}")
    checked = subprocess.run(["bash", "-euo", "pipefail", "-c", task.check], cwd=folder, env=variables, capture_output=True, text=True)
    if checked.returncode != 0:
        raise Fault(f"the result is wrong: {(checked.stdout + checked.stderr)[-3000:]}")
    return session


def numbers(session):
    """Returns what a session took."""
    return {"requests": session.requests, "calls": session.calls, "sent": session.sent, "typed": session.typed}


def row(task, session):
    """Returns the line of the table."""
    peer = task.peer
    beside = f"{peer['agent']}: {peer['requests']} / {peer['calls']} / {peer['sent']:,} / {peer['typed']:,}" if peer else "–"
    own = f"{session.requests:>8}  {session.calls:>5}  {session.first:>7,}  {session.sent:>9,}  {session.typed:>7,}"
    return f"{task.name:<20} {task.kind:<10} {task.language:<11} {own}  {beside}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--shown", action="store_true")
    parser.add_argument("--program", type=Path)
    parser.add_argument("--tasks", type=Path, default=HERE / "tasks")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    root = HERE.parent.parent
    target = Path(os.environ.get("CARGO_TARGET_DIR", root / "target"))
    program = (options.program or target / "dist/architect-ci").resolve()
    tasks = [Task.read(path) for path in sorted(options.tasks.glob("*.toml"))]
    tasks = [task for task in tasks if not options.names or task.name in options.names]
    if not tasks:
        sys.exit("no such task")
    environment = Environment(target / "turns", options.tasks)
    print(f"{'task':<20} {'kind':<10} {'language':<11} requests  calls    first       sent    typed  the best of others")
    faults = []
    with tempfile.TemporaryDirectory(prefix="turns-") as scratch:
        for task in tasks:
            try:
                session = play(task, program, environment, Path(scratch), options.shown)
            except Fault as fault:
                faults.append(f"{task.name}: {fault}")
                continue
            finally:
                shutil.rmtree(Path(scratch) / task.name / "checkout", ignore_errors=True)
            print(row(task, session), flush=True)
            taken = numbers(session) | {"first": session.first}
            over = [f"{taken[name]:,} {name}, of {most:,} allowed" for name, most in task.allowed().items() if taken[name] > most]
            faults += [f"{task.name}: {text}" for text in over]
    if faults:
        print("\n" + "\n".join(faults), file=sys.stderr)
    sys.exit(1 if faults and options.check else 0)


def show(session):
    """Prints what the program sent, each message once."""
    known = 0
    print(json.dumps(session.bodies[0].get("tools"), ensure_ascii=False))
    for body in session.bodies:
        for message in body["messages"][known:]:
            calls = [f"{call['function']['name']} {call['function']['arguments']}" for call in message.get("tool_calls") or []]
            print(f"--- {message['role']}\n{content(message)}" + "".join(f"\n→ {call}" for call in calls))
        known = len(body["messages"])


if __name__ == "__main__":
    main()
