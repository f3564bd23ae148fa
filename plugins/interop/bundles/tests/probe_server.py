"""An MCP server that says where it runs and with what; only the standard library."""

import json
import os
import sys
from pathlib import Path


def found() -> str:
    """What this process got, on one line."""
    data = Path(os.environ["PLUGIN_DATA"])
    try:
        (data / "note").write_text("x")
        wrote = True
    except OSError:
        wrote = False
    names = ("PLUGIN_ROOT", "PLUGIN_DATA", "VALUE")
    env = {name: os.environ[name] for name in names if name in os.environ}
    return json.dumps({"args": sys.argv[1:], "env": env, "cwd": str(Path.cwd()), "wrote": wrote})


def answer(request: dict) -> dict | None:
    """The result of a request; None for a notification."""
    method = request.get("method")
    if method == "initialize":
        version = request["params"]["protocolVersion"]
        about = {"name": "probe", "version": "1"}
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        schema = {"type": "object", "properties": {}}
        return {"tools": [{"name": "probe", "description": "Probe.", "inputSchema": schema}]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": found()}]}
    return {} if "id" in request else None


for line in sys.stdin:
    message = json.loads(line)
    result = answer(message)
    if result is not None and "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
