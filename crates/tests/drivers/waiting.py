"""The Python SDK in the handshake era, as a client that waits for messages in a task
of 2025-11-25: begun with a call, seen in the list, and read with tasks/result.

The SDK has the types of tasks and lets their methods pass, but holds the answer of a
call against the shape of a result: one that is a task is taken from the transport."""

import asyncio
import json
import sys
from contextlib import asynccontextmanager

import anyio
import httpx2
import mcp_types as types
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

BEGUN = []


def say(said):
    print(json.dumps(said), flush=True)


@asynccontextmanager
async def http_client(url, token):
    async with httpx2.AsyncClient(headers={"authorization": f"Bearer {token}"}, timeout=60) as http:
        async with streamable_http_client(url, http_client=http) as streams:
            yield streams[0], streams[1]


@asynccontextmanager
async def tapped(inner):
    """The transport again; a result that is a task is kept on its way."""
    async with inner as (read, write):
        send, receive = anyio.create_memory_object_stream(100)

        async def pump():
            async with send:
                async for item in read:
                    if isinstance(item, SessionMessage):
                        message = item.message.model_dump(by_alias=True, mode="json", exclude_unset=True)
                        if "task" in (message.get("result") or {}):
                            BEGUN.append(message["result"])
                    await send.send(item)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pump)
            yield receive, write
            tasks.cancel_scope.cancel()


def plain(result):
    return result.model_dump(by_alias=True, mode="json", exclude_none=True)


async def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        plan = json.load(file)
    async with Client(tapped(http_client(plan["url"], plan["token"])), mode="legacy") as client:
        session = client.session
        listed = await client.list_tools()
        wait = next(tool for tool in listed.tools if tool.name == "inbox-wait")
        params = types.CallToolRequestParams(name="inbox-wait", arguments={}, task=types.TaskMetadata(ttl=60_000))
        try:
            await session.send_request(types.CallToolRequest(params=params), types.CreateTaskResult)
        except ValidationError:
            pass
        begun = types.CreateTaskResult.model_validate(BEGUN[0], by_name=False)
        say({"task": plain(begun.task), "tool": plain(wait)})
        task_id = begun.task.task_id
        params = types.GetTaskRequestParams(task_id=task_id)
        state = await session.send_request(types.GetTaskRequest(params=params), types.GetTaskResult)
        tasks = await session.send_request(types.ListTasksRequest(), types.ListTasksResult)
        say({"state": state.status, "listed": [task.task_id for task in tasks.tasks]})
        params = types.GetTaskPayloadRequestParams(task_id=task_id)
        result = await session.send_request(types.GetTaskPayloadRequest(params=params), types.CallToolResult)
        say({"ended": plain(result)})


asyncio.run(main())
