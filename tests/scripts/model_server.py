"""A model server on the loopback interface, for scripts that measure: it answers as OpenAI's chat completions do, with calls that
are known beforehand, and notes when each request came and each answer went."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# As long as a real one, so that looking for it in what is sent is part of what is measured.
KEY = "sk-proj-" + "x4Tq9" * 8


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        server = self.server
        step = len(server.requests)
        server.requests.append((time.monotonic(), body))
        message = {"role": "assistant", "content": "Done."}
        if step < len(server.calls):
            name, arguments = server.calls[step]
            function = {"name": name, "arguments": json.dumps(arguments)}
            message = {"role": "assistant", "content": "", "tool_calls": [{"id": f"call_{step}", "type": "function", "function": function}]}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if "tool_calls" in message else "stop"}
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        payload = json.dumps({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}).encode()
        time.sleep(server.thinks)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        server.answers.append(time.monotonic())
        self.wfile.write(payload)

    def log_message(self, *_):
        pass


class ModelServer(ThreadingHTTPServer):
    """Answers with one call a turn, after so many seconds of thinking; then with "Done."."""

    def __init__(self, calls, thinks=0.0):
        super().__init__(("127.0.0.1", 0), Handler)
        self.calls, self.thinks = calls, thinks
        self.requests, self.answers = [], []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def flags(self):
        """Returns what makes a run ask this server."""
        return ["--model", "openai::gpt-5", "--base-url", f"http://127.0.0.1:{self.server_port}/v1/"]

    def turns(self):
        """Returns, for each call, the milliseconds from its answer to the next request."""
        asked = [at for at, _ in self.requests]
        return [(then - now) * 1000 for now, then in zip(self.answers, asked[1:])]
