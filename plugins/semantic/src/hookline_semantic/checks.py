"""``hookline doctor``: whether vectors can be had, and how long they are."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import perf_counter

from hookline_hookspecs import CheckResult, HooklineError, Host

from .embedders import called
from .parts import Parts

SECONDS = 4.0
"""How long the check waits for a vector."""
FIX = "see plugins.semantic in config.yaml; until then words alone decide, and nothing waits"


async def embeddings_check(host: Host, made: Callable[[], Parts], offline: bool) -> CheckResult:
    """Ask for one vector; compare its length with those that are kept."""
    try:
        parts = made()
        name = called(parts.kept.model)
        rows = await host.storage.fetch("counts")
        mine = [row for row in rows if row["model"] == parts.kept.model]
        lengths = {row["bytes"] - 4 for row in mine if row["bytes"]}
        texts = sum(row["texts"] for row in mine)
        if parts.embedder.remote and offline:
            return CheckResult(True, f"{name}: {texts:,} vectors; not asked (offline)")
        began = perf_counter()
        async with asyncio.timeout(SECONDS):
            vectors = await parts.embedder.embed(["a text"], "query")
        took = perf_counter() - began
    except TimeoutError:
        return CheckResult(False, f"no vector within {SECONDS:g} s", FIX)
    except HooklineError as error:
        return CheckResult(False, str(error), FIX)
    size = vectors.shape[1]
    if lengths - {size}:
        others = ", ".join(str(one) for one in sorted(lengths - {size}))
        return CheckResult(
            False,
            f"{name} has {size} dimensions, but vectors of {others} are kept",
            "the server's model has changed under the same name; run: "
            "hookline plugins purge semantic, then hookline semantic fill",
        )
    return CheckResult(
        True, f"{name}: {size} dimensions in {took * 1000:.0f} ms, {texts:,} vectors"
    )
