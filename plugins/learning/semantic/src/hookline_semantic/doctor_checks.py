"""Check for ``hookline doctor``: the embedder of ``semantic`` works."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import perf_counter

from hookline_hookspecs import CheckResult, HooklineError, Host

from .embedders import describe_embedder
from .indexer import probe
from .parts import SemanticParts

CHECK_TIMEOUT = 4.0
"""Seconds that the check waits for a vector."""
FIX = "see plugins.semantic in config.yaml; until then, search is by words only"


async def embeddings_check(
    host: Host, get_parts: Callable[[], SemanticParts], offline: bool
) -> CheckResult:
    """Request one vector and compare it with the stored ones."""
    try:
        parts = get_parts()
        name = describe_embedder(parts.store.model)
        rows = await host.storage.fetch("counts")
        texts = sum(row["texts"] for row in rows if row["model"] == parts.store.model)
        if parts.embedder.remote and offline:
            return CheckResult(True, f"{name}: {texts:,} vectors; not tested (offline)")
        began = perf_counter()
        async with asyncio.timeout(CHECK_TIMEOUT):
            vector = await probe(parts.embedder)
        took = perf_counter() - began
        changed = await parts.store.model_change(vector)
    except TimeoutError:
        return CheckResult(False, f"no answer within {CHECK_TIMEOUT:g} s", FIX)
    except HooklineError as error:
        return CheckResult(False, str(error), FIX)
    if changed:
        return CheckResult(
            False,
            f"{name} {changed}",
            "the server's model changed under the same name. Run `hookline semantic fill`.",
        )
    return CheckResult(
        True, f"{name}: {len(vector)} dimensions in {took * 1000:.0f} ms, {texts:,} vectors"
    )
