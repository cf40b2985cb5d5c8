"""The official Python client of MCP against `situated mcp`: lists what there is, calls every tool, reads notes, is told
of progress, and changes its mind. Prints one JSON object of what it saw."""

import asyncio
import json
import os
import sys

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

HERON = "# Heron\n\nHerons hunt in shallow water.\n\n## Nesting\n\nThey nest in alders.\n"
CALLS = [
    ("search_notes", {"query": "quibbleheron"}),
    ("search_with_contextual_retrieval", {"query": "quibbleheron", "top_k": 3}),
    ("read_note", {"path": "Heron.md"}),
    ("related_notes", {"path": "Heron.md", "limit": 3}),
    ("recent_notes", {"limit": 5}),
    ("vault_status", {}),
    ("generate_context_for_chunk", {"document": HERON, "chunk": "They nest in alders."}),
    ("reindex_with_context", {}),
    ("get_reindexing_progress", {}),
    ("get_contextual_retrieval_stats", {}),
    ("ask", {"question": "Where does the quibbleheron nest?"}),
    ("search_notes", {}),
]


async def main(mode, program):
    saw = {"calls": {}, "progress": 0}
    server = StdioServerParameters(command=program, args=["mcp"], env=dict(os.environ))
    async with Client(stdio_client(server), mode=mode) as client:
        saw["protocol"] = client.protocol_version
        saw["instructions"] = "never orders" in (client.instructions or "")
        tools = (await client.list_tools()).tools
        saw["tools"] = [tool.name for tool in tools]
        saw["read_only"] = [tool.name for tool in tools if tool.annotations.read_only_hint]
        for name, arguments in CALLS:
            result = await client.call_tool(name, arguments)
            key = name if arguments or name != "search_notes" else "search_notes()"
            text = result.content[0].text
            saw["calls"][key] = {"error": bool(result.is_error), "data": result.structured_content, "text": text[:200]}
        resources, cursor = [], None
        while True:
            page = await client.list_resources(cursor=cursor)
            resources += page.resources
            cursor = page.next_cursor
            if cursor is None:
                break
        saw["resources"] = len(resources)
        saw["templates"] = [t.uri_template for t in (await client.list_resource_templates()).resource_templates]
        saw["read"] = (await client.read_resource("note://notes/Heron.md")).contents[0].text

        async def progress(done, total, message):
            saw["progress"] += 1

        waited = {"force": True, "wait": True}
        result = await client.call_tool("reindex_with_context", waited, progress_callback=progress)
        saw["reindexed"] = result.structured_content
        task = asyncio.create_task(client.call_tool("reindex_with_context", waited))
        await asyncio.sleep(0.05)
        task.cancel()
        try:
            await task
            saw["cancelled"] = False
        except asyncio.CancelledError:
            saw["cancelled"] = True
        saw["after"] = (await client.call_tool("search_notes", {"query": "quibbleheron"})).structured_content["results"][0]["path"]
    print(json.dumps(saw))


asyncio.run(main(sys.argv[1], sys.argv[2]))
