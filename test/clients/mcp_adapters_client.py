"""An agent of ours as a tool of LangChain and of the OpenAI Agents SDK. Arguments: URL and key."""

import asyncio
import json
import sys

from agents import Agent, Runner, set_default_openai_client, set_tracing_disabled
from agents.mcp import MCPServerStreamableHttp
from langchain_mcp_adapters.client import MultiServerMCPClient
from openai import AsyncOpenAI

base, key = sys.argv[1:]
PLACE = {"url": f"{base}/mcp", "headers": {"Authorization": f"Bearer {key}"}}
SAID = "You said: Hello"


async def ask_by_langchain():
    client = MultiServerMCPClient({"wadi": {"transport": "streamable_http", **PLACE}})
    tools = {tool.name: tool for tool in await client.get_tools()}
    return SAID in str(await tools["guide"].ainvoke({"message": "Hello"}))


async def ask_by_agents():
    set_tracing_disabled(True)
    set_default_openai_client(AsyncOpenAI(base_url=f"{base}/v1", api_key=key))
    async with MCPServerStreamableHttp(params=PLACE) as server:
        agent = Agent(name="Asker", model="svc", mcp_servers=[server])
        result = await Runner.run(agent, '!tool guide {"message":"Hello"}')
        return SAID in result.final_output


async def main():
    report = {"langchain": await ask_by_langchain(), "agents": await ask_by_agents()}
    print(json.dumps(report))


asyncio.run(main())
