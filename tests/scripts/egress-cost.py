#!/usr/bin/env python3
"""Measures what a list of hosts costs a command: a connection by way of the proxy and a download through it, against the
same without a sandbox, and the memory that the program takes meanwhile.

    tests/scripts/egress-cost.py [PROGRAM] [--connections 300] [--rate 125] [--megabytes 500] [--rounds 3] [--check]

The server sends at most `--rate` MB/s, which by default is a network of 1 Gbit/s; what the loopback interface allows is
printed besides. With `--check` the script fails where a median is beyond its target.
"""

import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("program", nargs="?", default="target/dist/architect-ci", type=Path)
parser.add_argument("--connections", type=int, default=300)
parser.add_argument("--rate", type=int, default=125, help="MB/s that the server sends")
parser.add_argument("--megabytes", type=int, default=500, help="size of a download")
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--check", action="store_true", help="fail beyond the targets")
options = parser.parse_args()
program = options.program.resolve(strict=True)
scratch = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
work = Path(scratch.name)
environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ} | {"CI": "true"}

CLIENT = '''
import json, os, socket, statistics, sys, time

port, connections, megabytes, rate = map(int, sys.argv[1:5])
proxy = os.environ.get("http_proxy")


def connect():
    if not proxy:
        return socket.create_connection(("127.0.0.2", port))
    host, proxy_port = proxy.rsplit("@", 1)[-1].removeprefix("http://").rsplit(":", 1)
    client = socket.create_connection((host, int(proxy_port)))
    client.sendall(f"CONNECT 127.0.0.2:{port} HTTP/1.1\\r\\nHost: 127.0.0.2:{port}\\r\\n\\r\\n".encode())
    answer = b""
    while not answer.endswith(b"\\r\\n\\r\\n"):
        answer += client.recv(1)
    assert b" 200 " in answer, answer
    return client


def opened():
    started = time.perf_counter()
    client = connect()
    client.sendall(b"0 0\\n")
    assert client.recv(1) == b"!"
    elapsed = time.perf_counter() - started
    client.close()
    return elapsed * 1000


def download(rate):
    client, space, got = connect(), memoryview(bytearray(1 << 20)), 0
    client.sendall(f"{megabytes} {rate}\\n".encode())
    client.recv(1)
    started = time.perf_counter()
    while count := client.recv_into(space):
        got += count
    assert got == megabytes * 1_000_000, got
    return megabytes / (time.perf_counter() - started)


opened()
result = {"proxy": bool(proxy), "ms": statistics.median(opened() for _ in range(connections))}
result["paced"], result["free"] = download(rate), download(0)
print("RESULT " + json.dumps(result))
'''


def serve(client):
    megabytes, rate = map(int, client.makefile().readline().split())
    client.sendall(b"!")
    block, started = b"x" * 500_000, time.perf_counter()
    for sent in range(1, megabytes * 2 + 1):
        client.sendall(block)
        if rate and (early := sent / 2 / rate - (time.perf_counter() - started)) > 0:
            time.sleep(early)
    client.close()


def accept(listener):
    while True:
        client, _ = listener.accept()
        threading.Thread(target=serve, args=(client,), daemon=True).start()


def result(text):
    return json.loads(next(line for line in text.splitlines() if "RESULT " in line).split("RESULT ", 1)[1])


def memory(pid):
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


def behind_the_proxy(repo, command):
    """Returns the client's result in a run of the program, and the most memory that the program held, in MiB."""
    reply = {"type": "reply", "agent": "build", "step": 1, "calls": [{"id": "0", "name": "run_command", "arguments": {"command": command}}]}
    model = work / "model.jsonl"
    model.write_text(json.dumps(reply) + "\n" + json.dumps({"type": "reply", "agent": "build", "step": 2, "text": "done"}) + "\n")
    out = work / "out"
    shutil.rmtree(out, ignore_errors=True)
    arguments = [program, "run", "--quiet", "--task", "x", "--mode", "yolo", "--model", f"replay::{model}", "--workspace", repo, "--out", out]
    # Its own process: nothing stands between it and the program whose memory is looked at.
    running = subprocess.Popen(arguments, cwd=work, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    most = 0.0
    while running.poll() is None:
        try:
            most = max(most, memory(running.pid))
        except (OSError, StopIteration):
            pass
        time.sleep(0.05)
    path = out / "transcript.jsonl"
    transcript = path.read_text() if path.exists() else ""
    if running.returncode != 0 or "RESULT" not in transcript:
        sys.exit(f"the run ended with {running.returncode}:\n{running.stderr.read().decode()}\n{transcript[-2000:]}")
    outputs = [json.loads(line) for line in transcript.splitlines()]
    texts = [json.dumps(line) for line in outputs if "RESULT" in json.dumps(line)]
    found = texts[0].split("RESULT ", 1)[1].replace('\\"', '"')
    found = json.JSONDecoder().raw_decode(found)[0]
    if not found["proxy"]:
        sys.exit("the command had no proxy")
    return found, most


listener = socket.create_server(("127.0.0.2", 0), backlog=512)
port = listener.getsockname()[1]
threading.Thread(target=accept, args=(listener,), daemon=True).start()
repo = work / "repo"
repo.mkdir()
(repo / "client.py").write_text(CLIENT)
(repo / ".architect.yml").write_text(f"commands:\n  sandbox: required\n  network: {{ allow: ['127.0.0.2/32:{port}'] }}\n  default_timeout: 600\n")
for arguments in (["init", "--quiet"], ["add", "--all"], ["-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "--quiet", "--message", "x"]):
    subprocess.run(["git", *arguments], cwd=repo, env=environment, check=True)


def client(megabytes):
    return f"python3 client.py {port} {options.connections} {megabytes} {options.rate}"


bare, walled = [], []
for _ in range(options.rounds):
    done = subprocess.run(["bash", "-c", client(options.megabytes)], cwd=repo, env=environment, capture_output=True, text=True, check=True)
    bare.append(result(done.stdout))
    walled.append(behind_the_proxy(repo, client(options.megabytes)))
_, little = behind_the_proxy(repo, client(1))


def middle(rows, key):
    return statistics.median(row[key] for row in rows)


good = True


def row(name, without, with_proxy, cost, target, unit):
    global good
    good &= cost <= target
    print(f"{name:<42} {without:9.2f} {with_proxy:9.2f} {cost:9.2f}  {unit:<3} {'≤' if cost <= target else '>'} {target}")


through = [found for found, _ in walled]
print(f"{'':<42} {'without':>9} {'proxy':>9} {'cost':>9}       target")
row("a connection, ms", middle(bare, "ms"), middle(through, "ms"), middle(through, "ms") - middle(bare, "ms"), 1, "ms")
slower = (1 - middle(through, "paced") / middle(bare, "paced")) * 100
row(f"a download at {options.rate} MB/s, MB/s", middle(bare, "paced"), middle(through, "paced"), slower, 5, "%")
most = max(most for _, most in walled)
row(f"memory for 1 and {2 * options.megabytes} MB, MiB", little, most, most - little, 8, "MiB")
print(f"{'a download over the loopback, MB/s':<42} {middle(bare, 'free'):9.0f} {middle(through, 'free'):9.0f}")
sys.exit(0 if good or not options.check else 1)
