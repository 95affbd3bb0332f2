"""Searches through the MCP client of PyPI's `mcp`: python mcp_client.py ASSAY LIBRARY."""
import asyncio
import json
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main():
    assay, library = sys.argv[1:]
    server = StdioServerParameters(command=assay, args=["search", "serve", "--mcp", "--library", library])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        started = await session.initialize()
        await session.send_ping()
        tools = await session.list_tools()
        answer = await session.call_tool("search_skills", {"request": "make a pivot table from this export"})
        try:
            refused = (await session.call_tool("search_skills", {"request": ""})).isError
        except Exception:
            refused = True
        print(json.dumps({
            "server": started.serverInfo.name,
            "tools": [tool.name for tool in tools.tools],
            "answer": json.loads(answer.content[0].text),
            "refused": refused,
        }))


asyncio.run(main())
