"""The prices of the demo's estimate."""

from __future__ import annotations

from importlib.resources import files

import yaml
from hookline_insights.prices import packaged_list


def test_demo_prices_match_the_listed_prices() -> None:
    table = yaml.safe_load((files("hookline_demo") / "prices.yaml").read_text("utf-8"))
    listed = packaged_list().models
    for row in table["models"]:
        rates = listed[row["name"]].rates
        assert (row["input"], row["cached_input"], row["output"]) == (
            rates.input,
            rates.cache_read,
            rates.output,
        )
    assert str(table["as_of"]) == min(str(listed[row["name"]].date) for row in table["models"])
