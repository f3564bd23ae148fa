"""``hookline prices``: the list, and taking another from a file or a URL."""

from __future__ import annotations

import http.server
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hookline.testing import Harness
from hookline_hookspecs import Check
from hookline_insights import Insights
from support.serving import serving

Make = Callable[..., Harness]
LIST = """
date: 2026-11-20
models:
  openai/gpt-5: {input: 1, output: 8}
  company/own: {input: 0.5, output: 1}
"""


def test_packaged_prices_are_listed(harness: Make) -> None:
    found = harness(Insights).cli("prices")
    assert found.exit_code == 0
    assert "anthropic/claude-haiku-5-5" in found.stdout
    assert "  above 100,000 tokens of input" in found.stdout
    assert "US dollars per million tokens; read" in found.stdout
    assert all(len(line) <= 100 for line in found.stdout.splitlines())


def test_prices_update_loads_a_file(harness: Make, tmp_path: Path) -> None:
    h, file = harness(Insights), tmp_path / "new.yaml"
    file.write_text(LIST, "utf-8")
    found = h.cli(f"prices update {file}")
    assert (found.exit_code, found.stdout.splitlines()) == (
        0,
        [
            f"Saved 2 prices of 2026-11-20 to {h.home / 'prices.yaml'}.",
            "new      company/own: input $0.50, output $1.00",
            "changed  openai/gpt-5: input $1.25 → $1.00, output $10.00 → $8.00, "
            "cache read $0.125 → none",
        ],
    )
    assert (h.home / "prices.yaml").stat().st_mode & 0o777 == 0o600
    rows = {one["model"]: one for one in json.loads(h.cli("prices list --json").stdout)["models"]}
    assert rows["company/own"]["rates"]["input"] == 0.5
    assert rows["company/own"]["date"] == "2026-11-20"
    assert "No price changed." in h.cli(f"prices update {file}").stdout


def test_prices_update_refuses_a_bad_list_with_its_line(harness: Make, tmp_path: Path) -> None:
    h, file = harness(Insights), tmp_path / "bad.yaml"
    file.write_text(LIST.replace("output: 1}", "output: -1}"), "utf-8")
    h.home.mkdir(exist_ok=True)
    (h.home / "prices.yaml").write_text(LIST, "utf-8")
    found = h.cli(f"prices update {file}")
    assert (found.exit_code, found.stdout) == (1, "")
    assert "bad.yaml, line 5: company/own: output is not a number from 0" in found.stderr
    assert "bad.yaml was not loaded; the prices are unchanged." in found.stderr
    assert (h.home / "prices.yaml").read_text("utf-8") == LIST


class Site(http.server.BaseHTTPRequestHandler):
    """Serves the list at one path."""

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/prices.yaml" else 404)
        self.end_headers()
        self.wfile.write(LIST.encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_prices_update_loads_a_url(harness: Make) -> None:
    with serving(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)) as server:
        url = f"http://127.0.0.1:{server.server_port}"
        h = harness(Insights, core={"network.allow_hosts": ["127.0.0.1"]})
        assert "2 prices of 2026-11-20" in h.cli(f"prices update {url}/prices.yaml").stdout
        found = h.cli(f"prices update {url}/other.yaml")
        assert (found.exit_code, found.stderr) == (
            1,
            f"hookline: {url}/other.yaml answered with status 404.\n",
        )
    assert (h.home / "prices.yaml").read_text("utf-8") == LIST
    refused = harness(Insights).cli(f"prices update {url}/prices.yaml")
    assert refused.exit_code == 1
    assert "127.0.0.1" in refused.stderr


@pytest.mark.parametrize(
    ("words", "told", "code"),
    [
        ("update", "hookline prices update FILE|URL", 2),
        ("sell", "hookline prices list", 2),
        ("list it", "hookline prices list", 2),
        ("update no-such.yaml", "no-such.yaml: No such file", 1),
    ],
)
def test_prices_update_reports_bad_usage(harness: Make, words: str, told: str, code: int) -> None:
    found = harness(Insights).cli(f"prices {words}")
    assert (found.exit_code, found.stdout) == (code, "")
    assert told in found.stderr


def test_doctor_reports_an_unusable_price_list(harness: Make) -> None:
    h = harness(Insights)
    [(_, check)] = [
        one for one in h.plugin(Insights).host.registered(Check) if one[1].name == "prices"
    ]
    assert check.run().ok
    (h.home / "prices.yaml").write_text("date: 2026-11-20\nmodels: 3\n", "utf-8")
    found = check.run()
    assert not found.ok
    assert "line 2: models: is not a mapping" in found.detail
    assert "hookline prices update" in found.fix
