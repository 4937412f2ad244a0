"""A server for the transport's tests: `server.py legacy|modern|silent|deaf`.

The name of the called tool says how to misbehave.
"""
import json
import os
import sys
import threading
import time

ERA = sys.argv[1]
LOCK = threading.Lock()
ASKED = {}


def send(message):
    with LOCK:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def raw(text):
    with LOCK:
        sys.stdout.write(text)
        sys.stdout.flush()


def result(id, value):
    if ERA == "modern":
        value = {"resultType": "complete", **value}
    send({"jsonrpc": "2.0", "id": id, "result": value})


def call(id, params):
    tool = params["name"]
    arguments = params.get("arguments", {})
    token = params.get("_meta", {}).get("progressToken")
    if tool == "echo":
        result(id, {"content": [], "echo": arguments})
    elif tool == "progress":
        for step in range(3):
            send({"jsonrpc": "2.0", "method": "notifications/progress",
                  "params": {"progressToken": token, "progress": step}})
        result(id, {"content": []})
    elif tool == "ask":
        ASKED["q1"] = id
        send({"jsonrpc": "2.0", "id": "q1", "method": "elicitation/create",
              "params": {"message": "sure?", "requestedSchema": {"type": "object"}}})
    elif tool == "garbage":
        raw("this is no JSON\n\n\xff\xfe\n{\"jsonrpc\":\"2.0\"}\n[1,2]\n")
        send({"jsonrpc": "2.0", "id": 4711, "result": {"not": "asked for"}})
        send({"jsonrpc": "2.0", "id": "x", "result": {"not": "asked for"}})
        result(id, {"content": []})
        result(id, {"content": ["twice"]})
    elif tool == "halves":
        text = json.dumps({"jsonrpc": "2.0", "id": id, "result": {"content": []}}) + "\n"
        raw(text[:20])
        time.sleep(0.02)
        raw(text[20:])
    elif tool == "endless":
        while True:
            raw("x" * 65536)
    elif tool == "overlong":
        text = '{"content":["' + "y" * arguments["bytes"] + '"]}'
        if arguments["id"] == "first":
            raw('{"jsonrpc":"2.0","id":%d,"result":%s}\n' % (id, text))
        else:
            raw('{"result":%s,"jsonrpc":"2.0","id":%d}\n' % (text, id))
    elif tool == "large":
        result(id, {"content": "y" * 3_000_000})
    elif tool == "exit":
        sys.stderr.write("the disk is on fire\n")
        sys.stderr.flush()
        os._exit(3)
    elif tool == "half-exit":
        raw('{"jsonrpc":"2.0","id":')
        os._exit(0)
    elif tool == "changed":
        send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        result(id, {"content": []})
    elif tool == "stop-reading":
        result(id, {"content": []})
        time.sleep(1000)
    # "never": no answer


def main():
    if ERA == "deaf":
        import signal
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for line in sys.stdin:
        message = json.loads(line)
        method = message.get("method")
        id = message.get("id")
        params = message.get("params", {})
        if ERA == "silent":
            continue
        if method == "server/discover":
            if ERA == "modern":
                result(id, {"supportedVersions": ["2026-07-28"],
                            "capabilities": {"tools": {"listChanged": True}}})
            elif ERA == "fragile":
                os._exit(1)
            else:
                send({"jsonrpc": "2.0", "id": id,
                      "error": {"code": -32601, "message": "unknown"}})
        elif method == "initialize":
            result(id, {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                        "serverInfo": {"name": "fixture", "version": "1"}})
        elif method == "tools/call":
            call(id, params)
        elif method == "notifications/cancelled":
            # An answer after the cancellation, which belongs to nobody.
            result(params["requestId"], {"content": ["late"]})
            send({"jsonrpc": "2.0", "method": "notifications/message",
                  "params": {"level": "info", "data": ["cancelled", params["requestId"]]}})
        elif method == "subscriptions/listen":
            meta = {"io.modelcontextprotocol/subscriptionId": id}
            send({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
                  "params": {"_meta": meta, "notifications": params["notifications"]}})
            send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed",
                  "params": {"_meta": meta}})
        elif method is None and id in ASKED:
            result(ASKED.pop(id), {"content": [], "answered": message.get("result")})
    if ERA == "deaf":
        time.sleep(1000)


main()
