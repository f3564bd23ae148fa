"""``hookline doctor``: whether vectors can be had, and how long they are."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import perf_counter

from hookline_hookspecs import CheckResult, HooklineError, Host

from .embedders import called
from .filling import probe
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
        texts = sum(row["texts"] for row in rows if row["model"] == parts.kept.model)
        if parts.embedder.remote and offline:
            return CheckResult(True, f"{name}: {texts:,} vectors; not asked (offline)")
        began = perf_counter()
        async with asyncio.timeout(SECONDS):
            vector = await probe(parts.embedder)
        took = perf_counter() - began
        changed = await parts.kept.changed(vector)
    except TimeoutError:
        return CheckResult(False, f"no vector within {SECONDS:g} s", FIX)
    except HooklineError as error:
        return CheckResult(False, str(error), FIX)
    if changed:
        return CheckResult(
            False,
            f"{name} {changed}",
            "the server's model has changed under the same name; run: hookline semantic fill",
        )
    return CheckResult(
        True, f"{name}: {len(vector)} dimensions in {took * 1000:.0f} ms, {texts:,} vectors"
    )
