"""``/usage``, ``/context``, ``/status``, ``/sessions`` and ``/plugins``."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hookline_hookspecs import (
    ContextBlock,
    Host,
    ImageBlock,
    ModelResponse,
    Plugin,
    TextBlock,
    Turn,
    Usage,
    hookimpl,
)
from hookline_hookspecs.plugin import NoConfig
from hookline_hookspecs.prices import Prices
from hookline_inspect import Inspect

Make = Callable[..., Any]
READ = Usage(input=1000, cache_read=800, cache_write=100, output=7)
"""Costs 100 fresh + 0.1 × 800 + 1.25 × 100 = 305 tokens of input by the default prices."""


def answer(usage: Usage) -> ModelResponse:
    return ModelResponse((TextBlock("a"),), "end", usage)


def cells(text: str, name: str) -> tuple[int, float]:
    found = re.search(rf"^{name} · ([\d,]+) tokens? · ([\d.]+) %$", text, re.MULTILINE)
    assert found, text
    return int(found[1].replace(",", "")), float(found[2])


def test_usage_counts_by_model_and_shows_cache_savings(harness: Make) -> None:
    h = harness(Inspect, model=[answer(READ), answer(READ), answer(Usage(input=10, output=1))])
    assert h.send("/usage").text == "No model call yet."
    h.send("x")
    h.send("y")
    h.send("/model test/other")
    h.send("z")
    lines = h.send("/usage").text.splitlines()
    assert lines[0] == (
        "test/model (turn) · 2 model calls · 2,000 tokens in (1,600 read from the cache, 200 "
        "written to it, 200 uncached) · 14 tokens out · price unknown"
    )
    assert lines[1].startswith("test/other (turn) · 1 model call · 10 tokens in (0 read from")
    assert lines[2:] == [
        "Cost: unknown (no price for test/model, test/other).",
        "The provider's cache saved 69 % of the input cost.",
    ]


class ListedPrices(Prices):
    """Knows what ``test/model`` costs; long prompts cost twice as much. ``local/…`` is free."""

    def cost(self, model: str, usage: Usage, prompt: int | None = None) -> float | None:
        if model != "test/model":
            return None
        paid = 2 * usage.fresh + 0.2 * usage.cache_read + 2.5 * usage.cache_write
        paid += 10 * usage.output
        length = usage.input if prompt is None else prompt
        return paid * (2 if length > 5000 else 1) / 1e6

    def saved(self, model: str, usage: Usage, prompt: int | None = None) -> float | None:
        plain = replace(usage, cache_read=0, cache_write=0)
        without, paid = self.cost(model, plain, prompt), self.cost(model, usage, prompt)
        return None if without is None or paid is None else without - paid

    def as_of(self, *models: str) -> str:
        return "2026-10-01"


class FreePrices(Prices):
    """Every model runs on a machine of one's own."""

    def is_free(self, model: str) -> bool:
        return True

    def cost(self, model: str, usage: Usage, prompt: int | None = None) -> float | None:
        return 0.0


class PriceList(Plugin[NoConfig]):
    """Offers prices, as ``insights`` does."""

    prices: Prices = ListedPrices()

    @hookimpl
    def setup(self, host: Host) -> None:
        host.services.provide(Prices, self.prices)


def test_usage_shows_cost_if_price_is_known(harness: Make) -> None:
    big = Usage(input=6000, output=100)
    h = harness(Inspect, PriceList, model=[answer(READ), answer(big), answer(big), answer(big)])
    h.send("x")
    assert h.send("/status").text.endswith(
        "\nCost: $0.0007 at prices from 2026-10-01.\nThe provider's cache saved $0.0014."
    )
    # 100 fresh · 2 + 800 · 0.2 + 100 · 2.5 + 7 · 10 = 680 dollars for a million of each
    assert h.send("/usage").text.endswith(
        "\nCost: $0.0007 at prices from 2026-10-01.\nThe provider's cache saved $0.0014."
    )
    h.send("y")  # a long prompt: 6000 · 4 + 100 · 20
    assert "1,600" not in h.send("/usage").text
    assert "Cost: $0.0267 at" in h.send("/usage").text
    h.send("/model test/other")
    h.send("z")
    assert h.send("/usage").text.endswith("because the price is unknown: test/other.")


def test_usage_of_a_local_server_is_free(harness: Make) -> None:
    class Free(PriceList):
        prices = FreePrices()

    h = harness(Inspect, Free, model=[answer(READ)])
    h.send("x")
    assert h.send("/usage").text.endswith(" · free (local)\nCost: free (local).")


def test_usage_says_if_the_cache_cost_more(harness: Make) -> None:
    h = harness(Inspect, model=[answer(Usage(input=100, cache_write=100))])
    h.send("x")
    assert h.send("/usage").text.endswith("made the input 25 % more expensive.")


def test_context_shows_what_fills_the_window(harness: Make) -> None:
    class Reminds(Plugin[NoConfig]):
        @hookimpl
        def pre_prompt(self, ctx: Any, turn: Turn) -> ContextBlock:
            return ContextBlock("notices", "n" * 4000)

    h = harness(Inspect, Reminds, model=["a"])
    assert "Messages · 0 tokens" in h.send("/context").text
    h.send("x" * 8000)
    text = h.send("/context").text
    assert 2000 < cells(text, "Messages")[0] < 2100
    count, percent = cells(text, "Context blocks")
    assert 1000 < count < 1050
    assert percent == round(100 * count / 128_000, 1)
    assert text.endswith("Context window of test/model · 128,000 tokens")
    parts = ("System prompt", "Tools", "Messages", "Context blocks")
    assert cells(text, "Total")[0] == sum(cells(text, name)[0] for name in parts)


def test_context_does_not_count_picture_data_as_text(harness: Make) -> None:
    picture = ModelResponse(
        (TextBlock("a"), ImageBlock("image/png", "A" * 40_000, origins=())), "end"
    )
    h = harness(Inspect, model=[picture])
    h.send("x")
    assert cells(h.send("/context").text, "Messages")[0] < 200


def test_status_shows_running_turn_and_cost(harness: Make) -> None:
    class Asks(Plugin[NoConfig]):
        @hookimpl
        async def start_of_turn(self, ctx: Any, turn: Turn) -> None:
            seen.append((await h.asend("/status")).text)

    seen: list[str] = []
    h = harness(Inspect, Asks, model=["a"])
    h.send("x")
    assert "0 messages · a turn is running" in seen[0]
    assert f"Workspace: {h.workspace}" in seen[0]
    told = h.send("/status").text
    assert "2 messages · no turn is running\nModel: test/model" in told
    assert "\nCost: unknown (no price for test/model)." in told


def test_sessions_lists_sessions_of_chat_without_sub_agents(harness: Make) -> None:
    class Delegates(Plugin[NoConfig]):
        @hookimpl
        async def start_of_turn(self, ctx: Any, turn: Turn) -> None:
            if ctx.session.kind == "chat":
                await self.host.run_turn("do it", parent=ctx)

    h = harness(Inspect, Delegates, model=["a"] * 4)
    assert h.send("/sessions", session="one").text.count("turns") <= 1
    h.send("x", session="one")
    h.send("x", session="two")
    lines = h.send("/sessions", session="two").text.splitlines()
    assert [line.split()[0] for line in lines] == ["two", "one", "Go"]
    assert lines[0] == "two · 1 turn · `x`"  # by its first words, as it has no title


def test_plugins_lists_states_and_reasons(harness: Make) -> None:
    class Broken(Plugin[NoConfig]):
        @hookimpl
        def setup(self, host: Any) -> None:
            raise ValueError("no such file")

    class Quiet(Plugin[NoConfig]):
        """Switched off in config."""

    h = harness(Inspect, Broken, Quiet, config={"quiet": False}, strict=False)
    lines = h.send("/plugins").text.splitlines()
    assert "`inspect` · on" in lines
    assert "`quiet` · off" in lines
    (broken,) = [line for line in lines if line.startswith("`broken` · failed · ")]
    assert "no such file" in broken
