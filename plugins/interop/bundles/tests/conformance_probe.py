"""An MCP server that reports how it was started, as the probes of the conformance suite do."""

import json
import os
import sys
from pathlib import Path

NAMES = ("PLUGIN_ROOT", "PLUGIN_DATA", "APC_VALUE", "APC_EXPANSION", "APC_LITERAL")


def data_write() -> dict:
    """Whether the data folder takes a file."""
    file = Path(os.environ["PLUGIN_DATA"]) / "probe"
    try:
        file.write_text("x")
        file.unlink()
    except OSError as error:
        return {"path": str(file), "error": {"message": str(error)}, "cleanupError": None}
    return {"path": str(file), "error": None, "cleanupError": None}


def observation() -> dict:
    """What the suite calls an observation."""
    evidence = {
        "version": 1,
        "server": sys.argv[1],
        "root": str(Path(__file__).resolve().parents[1]),
        "resolvedData": str(Path(os.environ["PLUGIN_DATA"]).resolve()),
        "cwd": str(Path.cwd().resolve()),
        "argv": sys.argv[1:],
        "env": {name: os.environ[name] for name in NAMES if name in os.environ},
        "dataWrite": data_write(),
    }
    return {"kind": "mcp-stdio", "server": sys.argv[1], "evidence": evidence}


def answer(request: dict) -> dict:
    """The result of a request."""
    if request["method"] == "initialize":
        version = request["params"]["protocolVersion"]
        about = {"name": "probe", "version": "1"}
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
    if request["method"] == "tools/list":
        return {"tools": [{"name": "observe", "inputSchema": {"type": "object", "properties": {}}}]}
    if request["method"] == "tools/call":
        return {"content": [{"type": "text", "text": json.dumps(observation())}]}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = {"jsonrpc": "2.0", "id": message["id"], "result": answer(message)}
        print(json.dumps(result), flush=True)
