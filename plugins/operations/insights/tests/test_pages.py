"""The usage page: numbers, charts by day, and who sees them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hookline.testing import Harness
from hookline.testing.pages import PERSON, PageClient
from hookline_hookspecs import ModelResponse, TextBlock, Usage
from hookline_hookspecs.web import Chart, Problem, View
from hookline_insights import Insights

Make = Callable[..., Harness]
PRICES = {"test/model": {"input": 1.0, "output": 10.0, "cache_read": 0.1}}


def answer(usage: Usage) -> ModelResponse:
    return ModelResponse((TextBlock("ok"),), "end", usage)


def charts(view: View) -> list[Chart]:
    return [one for one in view.parts if isinstance(one, Chart)]


@pytest.fixture
def site(harness: Make, clock: Callable[[float], None]) -> PageClient:
    """A turn eight days ago, and one today."""
    used = [Usage(input=2000, output=10), Usage(input=1000, cache_read=600, output=50)]
    used.append(Usage(input=300, output=7))
    h = harness(Insights, config={"prices": PRICES}, model=[answer(one) for one in used])
    clock(-8)
    h.send("one")
    clock(0)
    h.send("two", session="b")
    return PageClient(h)


def test_tokens_and_cost_are_charted_by_day(site: PageClient) -> None:
    tokens, money = charts(site.get("/insights"))
    assert len(tokens.labels) == 7
    assert tokens.labels[-1] == "4 Mar"
    assert {name: values[-1] for name, values in tokens.series.items()} == {
        "uncached": 400,
        "cache read": 600,
        "cache write": 0,
        "output": 50,
    }
    assert money.series["cost"][-1] == pytest.approx(0.001, abs=1e-4)
    assert sum(money.series["cost"][:-1]) == 0
    month, _ = charts(site.get("/insights?days=30"))
    assert (len(month.labels), sum(month.series["uncached"])) == (30, 2400)
    text = site.text(site.get("/insights?days=1"))
    assert "60% from cache" in text
    assert "test/model" in text


def test_empty_page_explains_and_invalid_days_are_refused(harness: Make) -> None:
    site = PageClient(harness(Insights))
    assert "No usage in this period" in site.text(site.get("/insights"))
    for wrong in ("0", "x", "-1", "99999"):
        with pytest.raises(Problem) as refused:
            site.get(f"/insights?days={wrong}")
        assert refused.value.status == 400


def test_person_sees_usage_of_own_chats(site: PageClient) -> None:
    assert "No usage in this period" in site.text(site.get("/insights", PERSON))
    site.say("three", PERSON)
    mine, all_ = site.get("/insights", PERSON), site.get("/insights")
    assert (mine.subtitle[:10], all_.subtitle[:9]) == ("Your chats", "All chats")
    assert [sum(charts(one)[0].series["uncached"]) for one in (mine, all_)] == [300, 700]
    assert [sum(charts(one)[0].series["output"]) for one in (mine, all_)] == [7, 57]


def test_usage_page_stores_nothing(site: PageClient) -> None:
    before = site.stored()
    site.get("/insights?days=30")
    assert site.stored() == before
