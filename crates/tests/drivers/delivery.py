"""The Python SDK in the handshake era, as a client that subscribes and hears logs:
pulls until nothing is left, then waits to be told, and says all it gets, one line
each. It begins anew whenever something breaks."""

import asyncio
import json
import os
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from contextlib import asynccontextmanager

TOLD = ("notifications/resources/updated", "notifications/message")
LAST = {}


def say(said):
    print(json.dumps(said), flush=True)


@asynccontextmanager
async def http_client(url, token):
    async with httpx2.AsyncClient(headers={"authorization": f"Bearer {token}"}, timeout=60) as http:
        async with streamable_http_client(url, http_client=http) as streams:
            yield streams[0], streams[1]


async def session(plan):
    told = asyncio.Event()

    async def heard(message):
        message = getattr(message, "root", message)
        if isinstance(message, Exception):
            raise message
        if getattr(message, "method", None) in TOLD:
            say({"pushed": message.model_dump(by_alias=True, mode="json", exclude_none=True)})
            told.set()

    async with Client(http_client(plan["url"], plan["token"]), mode="legacy", message_handler=heard) as client:
        await client.set_logging_level("info")
        await client.subscribe_resource("legation://inbox")
        say({"ready": True})
        while True:
            told.clear()
            arguments = {"since_id": LAST["id"]} if LAST else {}
            result = await asyncio.wait_for(client.call_tool("inbox-pull", arguments), 20)
            messages = result.structured_content["messages"]
            if messages:
                LAST["id"] = messages[-1]["id"]
                say({"pulled": messages})
                continue
            try:
                await asyncio.wait_for(told.wait(), 3)
            except asyncio.TimeoutError:
                pass


async def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        plan = json.load(file)

    async def end():
        await asyncio.to_thread(sys.stdin.read)
        os._exit(0)

    ending = asyncio.create_task(end())
    while not ending.done():
        try:
            await session(plan)
        except BaseException as error:  # whatever broke, the next session goes on
            say({"broke": repr(error)})
        await asyncio.sleep(0.2)


asyncio.run(main())
