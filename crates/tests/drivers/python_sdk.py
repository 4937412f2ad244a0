"""The Python SDK in either era: connects, lists, calls, reads and gets what the
plan says, and prints the answers as they came off the wire.

The answers are taken from the stream and not from the SDK's return values,
because those have already been through its models.
"""

import asyncio
import json
import sys
from contextlib import asynccontextmanager

import anyio
import httpx2
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
import mcp_types as types

SEEN = []


def keep(item):
    if isinstance(item, SessionMessage):
        message = item.message.model_dump(by_alias=True, mode="json", exclude_unset=True)
        if "result" in message or "error" in message:
            SEEN.append(message)


@asynccontextmanager
async def tapped(inner):
    """The transport again, every response kept on its way to the client."""
    async with inner as (read, write):
        send, receive = anyio.create_memory_object_stream(100)

        async def pump():
            async with send:
                async for item in read:
                    keep(item)
                    await send.send(item)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pump)
            yield receive, write
            tasks.cancel_scope.cancel()


@asynccontextmanager
async def socket_client(path):
    """Newline-delimited JSON over a Unix socket."""
    stream = await anyio.connect_unix(path)
    to_client, read = anyio.create_memory_object_stream(100)
    write, from_client = anyio.create_memory_object_stream(100)

    async def receive():
        rest = b""
        async with to_client:
            async for chunk in stream:
                *lines, rest = (rest + chunk).split(b"\n")
                for line in filter(None, lines):
                    message = types.jsonrpc_message_adapter.validate_json(line)
                    await to_client.send(SessionMessage(message))

    async def send():
        async for item in from_client:
            text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            await stream.send(text.encode() + b"\n")

    async with stream, anyio.create_task_group() as tasks:
        tasks.start_soon(receive)
        tasks.start_soon(send)
        yield read, write
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def http_client(url, token):
    async with httpx2.AsyncClient(headers={"authorization": f"Bearer {token}"}, timeout=60) as http:
        async with streamable_http_client(url, http_client=http) as streams:
            yield streams[0], streams[1]


def transport(plan):
    how = plan["transport"]
    if how["kind"] == "stdio":
        return stdio_client(StdioServerParameters(command=how["command"], args=how["args"], env=how["env"]))
    if how["kind"] == "http":
        return http_client(how["url"], how["token"])
    return socket_client(how["path"])


async def converse(plan, mode):
    """Makes the calls that come in on standard input, one a line, answers what is
    asked as the line says, and prints what came of it."""
    turn, asked = {}, []

    async def answer(_context, params):
        asked.append(params.message)
        return types.ElicitResult(**turn.get("answer", {"action": "cancel"}))

    callback = answer if plan["asked"] else None
    async with Client(tapped(transport(plan)), mode=mode, elicitation_callback=callback) as client:

        async def call():
            try:
                result = await client.call_tool(turn["name"], turn["arguments"])
                return result.model_dump(by_alias=True, mode="json", exclude_none=True)
            except Exception as error:  # what the SDK refuses is part of the answer
                return {"failed": str(error)}

        while line := await asyncio.to_thread(sys.stdin.readline):
            turn.clear()
            turn.update(json.loads(line))
            asked.clear()
            results = await asyncio.gather(*(call() for _ in range(turn.get("times", 1))))
            print(json.dumps({"results": results, "asked": asked}), flush=True)


async def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        plan = json.load(file)
    mode = "auto" if plan["era"] == "modern" else "legacy"
    if plan.get("converse"):
        await converse(plan, mode)
        return
    async with Client(tapped(transport(plan)), mode=mode) as client:
        said = {"modern": False, "refusals": []}

        async def raw(name, act):
            SEEN.clear()
            try:
                await act
            except Exception as error:  # what the SDK refuses is part of the answer
                said["refusals"].append(f"{name}: {error}")
            said["modern"] |= any("resultType" in m.get("result", {}) for m in SEEN)
            message = SEEN[-1] if SEEN else {"nothing": True}
            return {k: v for k, v in message.items() if k in ("result", "error", "nothing")}

        async def listed(name, list_page, field):
            everything, cursor = [], None
            while True:
                page = (await raw(name, list_page(cursor=cursor))).get("result", {})
                everything += page.get(field, [])
                cursor = page.get("nextCursor")
                if not cursor:
                    return everything

        capabilities = client.server_capabilities
        said["tools"] = await listed("tools", client.list_tools, "tools") if capabilities.tools else []
        said["resources"] = await listed("resources", client.list_resources, "resources") if capabilities.resources else []
        said["templates"] = (
            await listed("templates", client.list_resource_templates, "resourceTemplates") if capabilities.resources else []
        )
        said["prompts"] = await listed("prompts", client.list_prompts, "prompts") if capabilities.prompts else []
        said["calls"] = [await raw(c["name"], client.call_tool(c["name"], c["arguments"])) for c in plan["calls"]]
        said["reads"] = [await raw(uri, client.read_resource(uri)) for uri in plan["reads"]]
        said["gets"] = [await raw(g["name"], client.get_prompt(g["name"], g.get("arguments"))) for g in plan["gets"]]
    print(json.dumps(said))


asyncio.run(main())
