"""A server for the host's tests: `server.py legacy|modern`."""
import json
import os
import sys

ERA = sys.argv[1]
TOOLS = [{"name": "echo", "inputSchema": {"type": "object"}}, {"name": "ask"},
         {"name": "exit"}, {"name": "pid"}, {"name": "roots"}]
ASKED = {}


def send(message):
    sys.stdout.write(json.dumps(dict(jsonrpc="2.0", **message)) + "\n")
    sys.stdout.flush()


def result(id, value):
    if ERA == "modern":
        value = {"resultType": "complete", **value}
    send({"id": id, "result": value})


def call(id, params):
    tool = params["name"]
    if tool == "echo":
        result(id, {"content": [], "echo": params.get("arguments")})
    elif tool == "pid":
        result(id, {"content": [], "pid": os.getpid()})
    elif tool == "exit":
        sys.stderr.write("the disk is on fire\n")
        sys.stderr.flush()
        os._exit(3)
    elif ERA == "modern" and "inputResponses" not in params:
        send({"id": id, "result": {
            "resultType": "input_required", "requestState": "s",
            "inputRequests": {"who": {"method": "elicitation/create",
                                      "params": {"message": "who?", "requestedSchema": {}}}}}})
    elif ERA == "modern":
        result(id, {"content": [], "answer": params["inputResponses"]["who"]})
    else:
        method = "roots/list" if tool == "roots" else "elicitation/create"
        ASKED["q%d" % len(ASKED)] = id
        send({"id": list(ASKED)[-1], "method": method,
              "params": {"message": "who?", "requestedSchema": {}}})


for line in sys.stdin:
    message = json.loads(line)
    method, id, params = message.get("method"), message.get("id"), message.get("params", {})
    if method == "server/discover" and ERA == "modern":
        result(id, {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})
    elif method == "initialize":
        result(id, {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                    "instructions": json.dumps(params["clientInfo"]),
                    "serverInfo": {"name": "fixture", "version": "1"}})
    elif method == "tools/list":
        result(id, {"tools": TOOLS})
    elif method == "tools/call":
        call(id, params)
    elif method is None and id in ASKED:
        result(ASKED[id], {"content": [], "answer": message.get("result", message.get("error"))})
    elif id is not None:
        send({"id": id, "error": {"code": -32601, "message": "unknown"}})
