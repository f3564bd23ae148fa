"""Prices: the packaged list, the library behind it, and lists that are refused."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import date

import pytest
from hookline.testing import Harness
from hookline_hookspecs import Usage
from hookline_hookspecs.prices import format_money
from hookline_insights import Insights
from hookline_insights.price_list import InvalidPriceList, ModelPrice, TokenRates, read_list
from hookline_insights.prices import ModelPrices, packaged_list
from hypothesis import given
from hypothesis import strategies as st

USAGE = Usage(input=10_000, cache_read=6_000, cache_write=1_000, output=500)
LIST = "date: 2026-10-01\nmodels:\n  x/m: {input: 1, output: 2}\n"


def test_packaged_prices_have_a_date_and_a_source() -> None:
    found = packaged_list()
    assert found.models
    for model, price in found.models.items():
        assert date.fromisoformat(price.date) <= date.fromisoformat("2026-11-23"), model
        assert price.source.startswith("https://"), model
        assert price.rates.output > price.rates.input >= (price.rates.cache_read or 0), model
        assert price.long is None or price.long.input > price.rates.input, model


def test_cost_prices_each_part_of_the_input() -> None:
    rates = TokenRates(input=2, output=10, cache_read=0.1, cache_write=2.5, cache_write_1h=4)
    usage = Usage(input=100, cache_read=40, cache_write=30, cache_write_1h=10, output=7)
    wanted = 30 * 2 + 40 * 0.1 + 20 * 2.5 + 10 * 4 + 7 * 10
    assert rates.cost(usage) == pytest.approx(wanted / 1e6)
    assert TokenRates(2, 10).cost(usage) == pytest.approx((100 * 2 + 7 * 10) / 1e6)


def test_unknown_price_is_none_and_not_zero() -> None:
    assert ModelPrices().cost("somewhere/new-model", USAGE) is None
    assert ModelPrices().describe("somewhere/new-model", USAGE) == "unknown"
    assert ModelPrices().saved("somewhere/new-model", USAGE) is None
    # Listed by its provider's other models, so its own price is simply not there.
    assert ModelPrices().cost("openai/gpt-99", USAGE) is None


@pytest.mark.parametrize("model", ["ollama/qwen3:8b", "vllm/Qwen/Qwen3-8B", "lmstudio/gpt-4o"])
def test_local_servers_are_free(model: str) -> None:
    assert ModelPrices().cost(model, USAGE) == 0.0
    assert ModelPrices().describe(model, USAGE) == "free (local)"


@pytest.mark.parametrize(
    ("model", "like"),
    [
        ("openai/gpt-5-2025-08-07", "openai/gpt-5"),
        ("anthropic/claude-sonnet-4-5-20250929", "anthropic/claude-sonnet-4-5"),
        ("company-proxy/gpt-5-mini", "openai/gpt-5-mini"),
        ("company-proxy/anthropic/claude-haiku-4-5", "anthropic/claude-haiku-4-5"),
    ],
)
def test_dated_and_proxied_names_have_the_price_of_the_model(model: str, like: str) -> None:
    assert ModelPrices().cost(model, USAGE) == ModelPrices().cost(like, USAGE) is not None


def test_long_prompts_cost_more() -> None:
    at, above = (Usage(input=n, output=10) for n in (100_000, 100_001))
    model = "anthropic/claude-haiku-5-5"
    assert ModelPrices().cost(model, at) == pytest.approx((100_000 * 0.1 + 10 * 0.5) / 1e6)
    assert ModelPrices().cost(model, above) == pytest.approx((100_001 * 0.5 + 10 * 2.5) / 1e6)
    assert ModelPrices().cost(model, above, prompt=50_000) == pytest.approx(
        (100_001 * 0.1 + 10 * 0.5) / 1e6
    )


def test_saved_is_negative_when_the_cache_cost_more() -> None:
    model = "anthropic/claude-sonnet-4-5"
    assert ModelPrices().saved(model, USAGE) == pytest.approx((6_000 * 2.7 - 1_000 * 0.75) / 1e6)
    written = Usage(input=1_000, cache_write=1_000)
    assert ModelPrices().saved(model, written) == pytest.approx(-1_000 * 0.75 / 1e6)


def test_home_list_goes_first_and_is_read_again_when_it_changes(
    harness: Callable[..., Harness],
) -> None:
    h = harness(Insights, model=["hi"], strict=False)
    h.send("hello")
    prices, file = h.plugin(Insights).prices, h.home / "prices.yaml"
    assert prices.cost("x/m", USAGE) is None
    file.write_text(LIST, "utf-8")
    assert prices.cost("x/m", USAGE) == pytest.approx((10_000 + 1_000) / 1e6)
    assert prices.cost("openai/gpt-5", USAGE) == ModelPrices().cost("openai/gpt-5", USAGE)
    assert (prices.as_of(), prices.as_of("x/m", "openai/gpt-5")) == ("2026-10-01", "2026-09-05")
    file.write_text(LIST.replace("x/m", "openai/gpt-5"), "utf-8")
    os.utime(file, ns=(1, 1))
    assert prices.cost("openai/gpt-5", USAGE) == pytest.approx((10_000 + 1_000) / 1e6)
    file.write_text("models: [", "utf-8")
    os.utime(file, ns=(2, 2))
    assert prices.cost("openai/gpt-5", USAGE) == pytest.approx((10_000 + 1_000) / 1e6)
    file.unlink()
    assert prices.cost("openai/gpt-5", USAGE) == ModelPrices().cost("openai/gpt-5", USAGE)


@pytest.mark.parametrize(
    ("model", "per_million"),
    [
        ("openai/gpt-4-turbo", 10.0),  # of a provider that the packaged list has
        ("google/gemini-2.5-flash", 0.3),
        ("company-proxy/gpt-4-turbo", 10.0),
    ],
)
def test_models_in_no_list_have_the_library_price(model: str, per_million: float) -> None:
    prices = ModelPrices()
    assert prices.price(model) is None
    assert prices.cost(model, Usage(input=1000)) == pytest.approx(per_million / 1000)
    # A sum of a thousand requests costs what they cost one by one, whatever their sum would.
    assert prices.cost(model, Usage(input=1_000_000), prompt=1000) == pytest.approx(per_million)
    assert prices.as_of(model).startswith("genai-prices ")
    both = prices.as_of(model, "openai/gpt-5")
    assert both.startswith("2026-09-05 and genai-prices ")


def test_library_prices_long_prompts_and_the_cache() -> None:
    cost, model = ModelPrices().cost, "google/gemini-2.5-pro"
    short, long = Usage(input=100_000, output=1_000), Usage(input=300_000, output=1_000)
    assert cost(model, short) == pytest.approx((100_000 * 1.25 + 1_000 * 10) / 1e6)
    assert cost(model, long) == pytest.approx((300_000 * 2.5 + 1_000 * 15) / 1e6)
    assert cost(model, long, prompt=100_000) == pytest.approx((300_000 * 1.25 + 1_000 * 10) / 1e6)
    cached = Usage(input=100_000, cache_read=100_000)
    assert 0 < (cost(model, cached) or 0) < (cost(model, Usage(input=100_000)) or 0)


@pytest.mark.slow
def test_library_is_imported_only_for_models_in_no_list() -> None:
    code = (
        "import sys\n"
        "from hookline_hookspecs import Usage\n"
        "from hookline_insights.prices import ModelPrices\n"
        "assert ModelPrices().cost('openai/gpt-5', Usage(input=1)) is not None\n"
        "assert 'genai_prices' not in sys.modules\n"
        "assert ModelPrices().cost('openai/gpt-4-turbo', Usage(input=1)) is not None\n"
        "assert 'genai_prices' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_own_prices_go_before_every_list() -> None:
    own = {
        "gpt-5": ModelPrice(TokenRates(1, 1), ""),
        "ollama/big": ModelPrice(TokenRates(1, 1), ""),
    }
    prices = ModelPrices(own=own, sign="€")
    assert prices.describe("openai/gpt-5", USAGE) == "€0.0105"
    assert prices.describe("ollama/big", USAGE) == "€0.0105"
    assert prices.describe("ollama/small", USAGE) == "free (local)"


@pytest.mark.parametrize(
    ("money", "shown"),
    [
        (None, "unknown"),
        (0.0, "$0.00"),
        (0.00001, "<$0.0001"),
        (0.0042, "$0.0042"),
        (0.5, "$0.50"),
        (1234.5, "$1,234.50"),
        (-0.02, "-$0.0200"),
    ],
)
def test_format_money_rounds_for_people(money: float | None, shown: str) -> None:
    assert format_money(money) == shown


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the list: is not a mapping"),
        ("- 1", "line 1: the list: is not a mapping"),
        ("models: {}", "`date: YYYY-MM-DD` and `models:` are needed"),
        ("date: [\n", "line 2: "),
        (LIST.replace("2026-10-01", "soon"), "line 1: date: is not a day such as"),
        (LIST.replace("x/m", "m"), "line 3: m: is not written as provider/model"),
        (LIST.replace(", output: 2", ""), "line 3: x/m: output is missing"),
        (LIST.replace("output: 2", "output: -2"), "line 3: x/m: output is not a number"),
        (LIST.replace("output: 2", "output: .nan"), "line 3: x/m: output is not a number"),
        (LIST.replace("output: 2", "output: cheap"), "line 3: x/m: output is not a number"),
        (LIST.replace("output: 2", "output: 2, ouput: 3"), "line 3: x/m: ouput is not a key"),
        (LIST + "  x/m: {input: 1, output: 2}\n", "line 4: x/m is given twice"),
        (LIST + "fee: ollama\n", "line 4: the list: fee is not a key"),
        (LIST + "free: ollama\n", "line 4: free: is not a list"),
        (
            LIST.replace("output: 2", "output: 2, long_prompt: {input: 1, output: 1}"),
            "line 3: x/m: above is not a number",
        ),
        (LIST.replace("{input: 1, output: 2}", "3"), "line 3: x/m: is not a mapping"),
        ("x" * 1_000_001, "more than 1,000,000 characters"),
        ("[" * 3000, ""),
        ("&a [*a, *a]", "the list: is not a mapping"),
    ],
)
def test_bad_list_is_refused_with_the_line(text: str, problem: str) -> None:
    with pytest.raises(InvalidPriceList) as caught:
        read_list(text, "mine.yaml")
    assert any(problem in one for one in caught.value.problems), caught.value.problems
    assert all(one.startswith("mine.yaml") for one in caught.value.problems)


@given(st.floats(), st.sampled_from(["", "-", "$"]))
def test_format_money_takes_any_amount(money: float, sign: str) -> None:
    assert format_money(None if math.isnan(money) else money, sign)
