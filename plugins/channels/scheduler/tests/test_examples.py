"""Every time that a text gives as an example is accepted, whenever it is read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from hookline.testing.pages import PageClient
from hookline_scheduler.schedule_parser import parse_schedule

PLUGIN = Path(__file__).parents[1]
ROOT = PLUGIN.parents[2]
BEGINNING = re.compile(
    r"(every (\d|day|week|month|hour|minute|mon|tue|wed|thu|fri|sat|sun)|in \d|on day \d|today "
    r"|tomorrow |@(hour|dai|week|month|year|annual)ly|\d{4}-\d\d-\d\d[ T]"
    r"|([\d*][\d*/,-]* ){4}[\d*])"
)
ENDS = re.compile(r"""["`“”„|()\n]|, | or | oder |、| 或 |: |：| add |\.\s|\.$|。""")
TIMES = [
    datetime.fromisoformat(f"{day}T{hour:02}:{minute}+00:00").timestamp()
    for day in ("2026-11-22", "2026-03-29", "2026-12-31", "2028-02-29")
    for hour in range(24)
    for minute in ("00", "59")
]


def examples(text: str) -> Iterator[str]:
    """Yield what looks like a time for the scheduler."""
    for piece in ENDS.split(re.sub(r"[│╭╰─\s]+", " ", text)):
        if BEGINNING.match(piece := piece.strip(" .")):
            yield piece


def expect_accepted(text: str, at_least: int, times: list[float] = TIMES) -> None:
    found = set(examples(text))
    assert len(found) >= at_least
    for one in found:
        for now in times:
            assert parse_schedule(one, "Europe/Berlin", now), one


def test_examples_of_the_command_line_are_accepted(make_home: Callable[..., Any]) -> None:
    expect_accepted(make_home().harness.cli("cron add --help").stdout, 3)


def test_examples_of_the_slash_command_are_accepted(make_home: Callable[..., Any]) -> None:
    agent = make_home().harness
    texts = [agent.send(f"/schedule {args}").text for args in ("", "help", "add every 2h")]
    expect_accepted("\n".join(texts), 5)


def test_examples_for_the_model_are_accepted(make_home: Callable[..., Any]) -> None:
    home = make_home(model=["Hello."])
    home.harness.send("Hello")
    (tool,) = [one for one in home.harness.model.requests[0].tools if one.name == "schedule"]
    expect_accepted(json.dumps([tool.description, dict(tool.parameters)]).replace('\\"', '"'), 3)


def test_examples_of_the_page_are_accepted(make_home: Callable[..., Any]) -> None:
    site = PageClient(make_home().harness)
    expect_accepted(site.text(site.get("/schedule")), 5)
    for catalogue in PLUGIN.glob("src/*/locale/*/messages.po"):
        entries = catalogue.read_text("utf-8").split("\n\n")
        lines = "\n\n".join(one for one in entries if "cron_text.py" not in one)
        expect_accepted(re.sub(r'"\n"', "", lines).replace(r"\"", '"'), 5)


def test_examples_of_the_documents_are_accepted() -> None:
    """Those in code; a reader may see them at any hour, but `today` says which day it is."""
    noon = datetime.fromisoformat("2026-11-22T12:00+00:00").timestamp()
    texts = [
        path.read_text("utf-8")
        for path in (
            *ROOT.glob("docs/**/*.md"),
            *ROOT.glob("*.md"),
            *ROOT.glob("plugins/*/*/README.md"),
        )
    ]
    about = [text for text in texts if re.search(r"/schedule|hookline cron", text)]
    code = re.findall(r"`([^`\n]+)`|(?:cron|schedule) add (.+)", "\n".join(about))
    expect_accepted("|".join(map("".join, code)), 12, [noon])
