"""What ten servers with 300 tools cost: tokens of each request, and the time of a cold start.

``python benchmarks/mcp_cost.py [RUNS]``. Two homes are the same but for the plugin ``mcp`` and a
catalog in which ``mcp/tools.txt`` is approved. In each, `hookline run` with a scripted model is
started anew, in turns; the processor time (user and system, of the process and its children) and
the median are printed. The servers' programs do not exist: none is started.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import mcp_search
from hookline_mcp.catalog import ApprovalCatalog, ToolListing
from hookline_mcp.config import McpConfig
from hookline_mcp.servers import load_servers
from hookline_mcp.tool_schema import model_schema

RUNS = 15


def home(folder: Path, *, servers: bool) -> Path:
    """A home whose model says hello; with the servers approved, or without the plugin."""
    folder.mkdir(mode=0o700)
    (folder / "hello.yaml").write_text("steps: [{text: hello, repeat: true}]\n", "utf-8")
    entries: dict[str, dict[str, str]] = {}
    tools: dict[str, dict[str, dict[str, object]]] = {}
    for server, wire in mcp_search.tools():
        entries[server] = {"command": f"/no/such/{server}"}
        tools.setdefault(server, {})[wire["name"]] = wire
    plugins = {"mcp": {"servers": entries}} if servers else {}
    (folder / "config.yaml").write_text(json.dumps({"plugins": plugins}), "utf-8")
    if servers:
        catalog = ApprovalCatalog(folder / "mcp" / "catalog.json")
        for server in load_servers(McpConfig.model_validate(plugins["mcp"]), {}, None):
            listed = ToolListing(tools[server.name], {})
            catalog.approve(
                server, listed, {n: model_schema(w) for n, w in listed.tools.items()}, 0.0
            )
    return folder


def hookline(place: Path, *words: str) -> str:
    """What a command prints."""
    done = subprocess.run(
        [sys.executable, "-m", "hookline", *words],
        env=os.environ | {"HOOKLINE_HOME": str(place)},
        cwd=place,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def timed(place: Path) -> tuple[float, float]:
    """Processor and wall-clock seconds of one cold turn."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    hookline(place, "run", "--model", f"scripted/{place}/hello.yaml", "--no-wait", "hello")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, time.perf_counter() - began


def main() -> None:
    """Print the tokens and the times."""
    runs = int(sys.argv[1]) if sys.argv[1:] else RUNS
    with tempfile.TemporaryDirectory() as folder:
        places = {
            "without": home(Path(folder) / "without", servers=False),
            "with": home(Path(folder) / "with", servers=True),
        }
        tokens = {
            name: json.loads(hookline(place, "prompt", "--json"))["tokens"]
            for name, place in places.items()
        }
        sys.stdout.write(f"tokens of system prompt and tools: {tokens}\n")
        each: dict[str, list[tuple[float, float]]] = {name: [] for name in places}
        for place in places.values():
            timed(place)
        for _ in range(runs):
            for name, place in places.items():
                each[name].append(timed(place))
        for name, found in each.items():
            spent, wall = (median(column) * 1000 for column in zip(*found, strict=True))
            sys.stdout.write(f"{name:<8} {spent:.0f} ms of processor time, {wall:.0f} ms\n")


if __name__ == "__main__":
    main()
