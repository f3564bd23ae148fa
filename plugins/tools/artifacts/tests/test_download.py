"""Download of a cut result by a person."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline.testing.pages import OPERATOR, PERSON, PageClient
from hookline_artifacts import Artifacts
from hookline_hookspecs import Plugin, tool
from hookline_hookspecs.web import Download, Problem

LONG = "a line of a long result\n" * 1000


class Talks(Plugin):
    """Says much."""

    @tool(read_only=True)
    async def talk(self) -> str:
        """Talk."""
        return LONG


def test_result_can_be_downloaded_by_people_of_its_chat_only(
    harness: Callable[..., Harness],
) -> None:
    h = harness(Artifacts, Talks, model=[calls("talk"), "done"])
    site = PageClient(h)
    site.say("talk", PERSON)

    async def newest() -> str:
        store = (await h.aopen()).engine.store
        sql = "SELECT id FROM artifacts_texts"
        rows: Any = await store.read(lambda db: db.fetch(sql, {}))
        return str(rows[0]["id"])

    id_ = h.run(newest())
    for who in (PERSON, OPERATOR):
        file = site.get(f"/artifacts/{id_}", who)
        assert isinstance(file, Download)
        assert file.body.decode() == LONG
    other = type(PERSON)("web", "ben", "person", "device-3")
    for address in (f"/artifacts/{id_}", "/artifacts/0000000000000000"):
        with pytest.raises(Problem) as refused:
            site.get(address, other)
        assert refused.value.status == 404
