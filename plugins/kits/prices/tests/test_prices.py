"""The packaged list is sound, prices are found, and a bad list is refused with its line."""

from __future__ import annotations

import math
import os
from datetime import date
from pathlib import Path

import pytest
from hookline_hookspecs import Usage
from hookline_prices import BadPrices, Price, Prices, Rates, cost, formatted, packaged, read_list
from hypothesis import given
from hypothesis import strategies as st

USAGE = Usage(input=10_000, cache_read=6_000, cache_write=1_000, output=500)
LIST = "date: 2026-10-01\nmodels:\n  x/m: {input: 1, output: 2}\n"


def test_every_packaged_price_is_dated_and_says_where_it_was_read() -> None:
    found = packaged()
    assert found.models
    for model, price in found.models.items():
        assert date.fromisoformat(price.date) <= date.fromisoformat("2026-11-23"), model
        assert price.source.startswith("https://"), model
        assert price.rates.output > price.rates.input >= (price.rates.cache_read or 0), model
        assert price.long is None or price.long.input > price.rates.input, model


def test_the_parts_of_the_input_are_priced_apart() -> None:
    rates = Rates(input=2, output=10, cache_read=0.1, cache_write=2.5, cache_write_1h=4)
    usage = Usage(input=100, cache_read=40, cache_write=30, cache_write_1h=10, output=7)
    wanted = 30 * 2 + 40 * 0.1 + 20 * 2.5 + 10 * 4 + 7 * 10
    assert rates.cost(usage) == pytest.approx(wanted / 1e6)
    assert Rates(2, 10).cost(usage) == pytest.approx((100 * 2 + 7 * 10) / 1e6)


def test_a_price_that_is_not_known_is_never_nothing() -> None:
    assert cost("somewhere/new-model", USAGE) is None
    assert Prices().told("somewhere/new-model", USAGE) == "unknown"
    assert Prices().saved("somewhere/new-model", USAGE) is None
    # Listed by its provider's other models, so its own price is simply not there.
    assert cost("openai/gpt-99", USAGE) is None


@pytest.mark.parametrize("model", ["ollama/qwen3:8b", "vllm/Qwen/Qwen3-8B", "lmstudio/gpt-4o"])
def test_a_local_server_is_free(model: str) -> None:
    assert cost(model, USAGE) == 0.0
    assert Prices().told(model, USAGE) == "free (local)"


@pytest.mark.parametrize(
    ("model", "like"),
    [
        ("openai/gpt-5-2025-08-07", "openai/gpt-5"),
        ("anthropic/claude-sonnet-4-5-20250929", "anthropic/claude-sonnet-4-5"),
        ("company-proxy/gpt-5-mini", "openai/gpt-5-mini"),
        ("company-proxy/anthropic/claude-haiku-4-5", "anthropic/claude-haiku-4-5"),
    ],
)
def test_other_names_of_a_model_are_known(model: str, like: str) -> None:
    assert cost(model, USAGE) == cost(like, USAGE) is not None


def test_a_long_prompt_costs_more() -> None:
    at, above = (Usage(input=n, output=10) for n in (100_000, 100_001))
    model = "anthropic/claude-haiku-5-5"
    assert cost(model, at) == pytest.approx((100_000 * 0.1 + 10 * 0.5) / 1e6)
    assert cost(model, above) == pytest.approx((100_001 * 0.5 + 10 * 2.5) / 1e6)
    assert Prices().cost(model, above, prompt=50_000) == pytest.approx(
        (100_001 * 0.1 + 10 * 0.5) / 1e6
    )


def test_the_cache_saves_or_costs() -> None:
    model = "anthropic/claude-sonnet-4-5"
    assert Prices().saved(model, USAGE) == pytest.approx((6_000 * 2.7 - 1_000 * 0.75) / 1e6)
    written = Usage(input=1_000, cache_write=1_000)
    assert Prices().saved(model, written) == pytest.approx(-1_000 * 0.75 / 1e6)


def test_the_homes_list_goes_first_and_is_read_again_when_it_changes(tmp_path: Path) -> None:
    prices, file = Prices(tmp_path), tmp_path / "prices.yaml"
    assert prices.cost("x/m", USAGE) is None
    file.write_text(LIST, "utf-8")
    assert prices.cost("x/m", USAGE) == pytest.approx((10_000 + 1_000) / 1e6)
    assert prices.cost("openai/gpt-5", USAGE) == cost("openai/gpt-5", USAGE)
    assert (prices.date(), prices.date("x/m", "openai/gpt-5")) == ("2026-10-01", "2026-09-05")
    file.write_text(LIST.replace("x/m", "openai/gpt-5"), "utf-8")
    os.utime(file, ns=(1, 1))
    assert prices.cost("openai/gpt-5", USAGE) == pytest.approx((10_000 + 1_000) / 1e6)
    file.write_text("models: [", "utf-8")
    os.utime(file, ns=(2, 2))
    assert prices.cost("openai/gpt-5", USAGE) == cost("openai/gpt-5", USAGE)


def test_own_prices_go_before_every_list(tmp_path: Path) -> None:
    own = {"gpt-5": Price(Rates(1, 1), ""), "ollama/big": Price(Rates(1, 1), "")}
    prices = Prices(tmp_path, own, sign="€")
    assert prices.told("openai/gpt-5", USAGE) == "€0.0105"
    assert prices.told("ollama/big", USAGE) == "€0.0105"
    assert prices.told("ollama/small", USAGE) == "free (local)"


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
def test_an_amount_is_written_for_people(money: float | None, shown: str) -> None:
    assert formatted(money) == shown


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
        (LIST + "  x/m: {input: 1, output: 2}\n", "line 4: x/m is there twice"),
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
def test_a_bad_list_is_refused_with_the_line(text: str, problem: str) -> None:
    with pytest.raises(BadPrices) as caught:
        read_list(text, "mine.yaml")
    assert any(problem in one for one in caught.value.problems), caught.value.problems
    assert all(one.startswith("mine.yaml") for one in caught.value.problems)


@given(st.floats(), st.sampled_from(["", "-", "$"]))
def test_any_amount_can_be_written(money: float, sign: str) -> None:
    assert formatted(None if math.isnan(money) else money, sign)
