"""The service ``People``, with which other plugins let people in."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hookline.testing import Harness
from hookline_access import AccessControl
from hookline_hookspecs import HooklineError
from hookline_hookspecs.people import PeopleDirectory


def test_people_are_let_in_and_removed_by_name(harness: Callable[..., Harness]) -> None:
    h = harness(AccessControl, config={"admins": ["fake:boss"], "allow": ["fake:ann"]})

    async def story() -> None:
        await h.aopen()
        people = h.plugin(AccessControl).host.services[PeopleDirectory]
        assert await people.role("fake:boss") == "admin"
        assert await people.role("fake:ann") == "person"
        assert await people.role("web:mia") == "unknown"
        await people.allow("web:mia", admin=False, by="fake:boss")
        assert await people.role("web:mia") == "person"
        await people.allow("web:mia", admin=True, by="terminal")
        await people.allow("web:mia", admin=False, by="terminal")  # an admin stays one
        assert await people.role("web:mia") == "admin"
        assert await people.remove("web:mia", "fake:boss")
        assert not await people.remove("web:mia", "fake:boss")
        assert await people.role("web:mia") == "unknown"

    h.run(story())
    log = h.cli("pairing log").stdout
    assert "web:mia  revoked by fake:boss" in log
    assert "web:mia  let in as admin by terminal" in log


def test_blocked_or_invalid_person_is_not_let_in(harness: Callable[..., Harness]) -> None:
    h = harness(AccessControl)
    h.cli("pairing block web:eve")

    async def story() -> None:
        await h.aopen()
        people = h.plugin(AccessControl).host.services[PeopleDirectory]
        assert await people.role("web:eve") == "blocked"
        for admin in (False, True):
            with pytest.raises(HooklineError, match="hookline pairing revoke web:eve"):
                await people.allow("web:eve", admin=admin, by="terminal")
        for nobody in ("web", "web:", ":mia", "web:*", "terminal:me", "web:\0"):
            assert await people.role(nobody) == "unknown"
            with pytest.raises(HooklineError, match="is not a person"):
                await people.allow(nobody, admin=True, by="terminal")
            assert not await people.remove(nobody, "terminal")

    h.run(story())
