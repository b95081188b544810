"""Tools, calls with progress and errors by the package `mcp`, whose types judge what arrives."""

import asyncio
import json
import sys

from mcp import Client, MCPError
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

base, key, mode = sys.argv[1:]


async def main():
    http = create_mcp_http_client(headers={"Authorization": f"Bearer {key}"})
    transport = streamable_http_client(f"{base}/mcp", http_client=http)
    seen = []

    async def note(progress, total, message):
        seen.append([progress, message is not None])

    async with Client(transport, mode=mode) as client:
        tools = await client.list_tools()
        # Not over before the first look at it, which is told as progress.
        ask = {"message": "!delay 300ms\n!say Slowly."}
        result = await client.call_tool("guide", ask, progress_callback=note)
        run_id = result.structured_content["run_id"]
        read = await client.call_tool("get_run", {"run_id": run_id, "wait_seconds": 5})
        wrong = await client.call_tool("guide", {"text": "Hello"})
        try:
            await client.call_tool("nothing", {})
            failure = None
        except MCPError as error:
            failure = error.error.code
        report = {
            "revision": client.protocol_version,
            "tools": [tool.name for tool in tools.tools][-1],
            "said": result.content[0].text,
            "progress": seen[:1],
            "status": read.structured_content["status"],
            "wrong": wrong.is_error,
            "failure": failure,
        }
        print(json.dumps(report))


asyncio.run(main())
