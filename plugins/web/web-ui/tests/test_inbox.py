"""The inbox, in one process."""

from __future__ import annotations

from collections.abc import Callable

from hookline.testing import Harness
from hookline_hookspecs import Question, Questions, Session
from support.web import WEB, listening, plugin, web_plugins


def test_question_without_a_reason_is_in_the_inbox(harness: Callable[..., Harness]) -> None:
    h = harness(plugin("web-ui"), *web_plugins(), config=WEB)

    async def story() -> None:
        async with listening(h) as site, site.client() as owner:
            asked = await h.runtime.engine.services[Questions].post(
                Question("telegram:5 wants to write to you.", ("Let in", "Block"), kind="trust"),
                "access",
                "telegram:5",
                expires=h.clock.now() + 60,
                session=Session("", "telegram", "5", None, h.clock.now(), kind="none"),
                asker="5",
                data={"code": "x"},
            )
            page = await owner.get("/inbox")
            assert page.status_code == 200, page.text
            assert asked.id in page.text
            assert "For 5 (Telegram) in chat 5 (Telegram)" in page.text

    h.run(story())
