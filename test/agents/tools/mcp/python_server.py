"""An MCP server by the official package, version 1 or 2, at the port that it is given."""

import sys

import uvicorn

try:
    from mcp.server import MCPServer as Server
    from mcp.server.mcpserver import Context
except ImportError:
    from mcp.server.fastmcp import Context
    from mcp.server.fastmcp import FastMCP as Server

server = Server("peer")


@server.tool()
async def add(a: int, b: int, context: Context) -> int:
    """Adds two numbers."""
    await context.report_progress(1, 2)
    return a + b


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("No.")


app = server.streamable_http_app()
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="info")
