"""An MCP server without measure. Modes: laughs, outlaughs, recursive, pages, ping, line."""

import json
import sys

MODE = sys.argv[1]
OBJECT = {"type": "object", "properties": {}}


def say(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def doubling(last):
    levels = {f"x{i}": {"anyOf": [{"$ref": f"#/$defs/x{i + 1}"}] * 2} for i in range(40)}
    return {"type": "object", "properties": {"a": {"$ref": "#/$defs/x0"}}, "$defs": {**levels, "x40": {"type": last}}}


def recursive():
    way = lambda name: {"properties": {"a": {"$ref": "#/$defs/node"}}, "required": [name]}
    return {"type": "object", "properties": {"a": {"$ref": "#/$defs/node"}}, "$defs": {"node": {"anyOf": [way("b"), way("c")]}}}


def listed(request):
    tool = {"name": "t", "inputSchema": OBJECT, "annotations": {"readOnlyHint": True}}
    if MODE == "laughs":
        return {"tools": [{**tool, "inputSchema": doubling("number")}, {**tool, "name": "u"}]}
    if MODE == "outlaughs":
        return {"tools": [{**tool, "outputSchema": doubling("string")}]}
    if MODE == "recursive":
        return {"tools": [{**tool, "inputSchema": recursive()}]}
    if MODE == "pages":
        return {"tools": [tool], "nextCursor": str(request["id"])}
    return {"tools": [tool]}


for line in sys.stdin:
    request = json.loads(line)
    method, answer = request.get("method"), lambda result: say({"id": request["id"], "result": result})
    if method == "initialize":
        info = {"name": "endless", "version": "1"}
        version = request["params"]["protocolVersion"]
        answer({"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info})
    elif method == "tools/list":
        answer(listed(request))
    elif method == "tools/call":
        if MODE == "ping":
            # The answers are never read; how many of these are taken is told on the way out.
            count = 0
            while True:
                count += 1
                say({"id": f"ping {count}", "method": "ping", "pad": "x" * 1000})
        if MODE == "line":
            while True:
                sys.stdout.write("x" * 1_000_000)
        answer({"content": [{"type": "text", "text": "ok"}], "structuredContent": {"a": 1}})
