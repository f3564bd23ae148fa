"""Links that members share: they and operators see and revoke each one, in a browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from ..browser import Gateway
from .conftest import SCRIPT, Window

pytestmark = pytest.mark.slow
New = Callable[..., Window]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway on which everyone may share."""
    made = Gateway(tmp_path_factory.mktemp("sharing"))
    made.configure(SCRIPT, inspect=True, **{"web-ui": {"share": "everyone"}})
    made.start()
    yield made
    made.close()


def test_member_and_operator_revoke_a_single_link(window: New) -> None:
    mia, owner = window(name="mia").open(), window()
    urls = []
    for words in ("hello, first", "hello, second"):
        mia.open("/").say(words)
        mia.settled()
        mia.button("Chat menu").click()
        mia.button("Share").click()
        mia.button("Create link").click()
        urls.append(mia.page.get_by_label("The link; it is shown only now").input_value())
    statuses = "(urls) => Promise.all(urls.map(async (one) => (await fetch(one)).status))"
    assert mia.page.evaluate(statuses, urls) == [200, 200]

    owner.open("/settings")
    assert owner.page.get_by_role("heading", name="Shared links").count() == 0
    others = owner.page.locator("section").filter(has_text="Links that others share")
    row = others.get_by_role("row").filter(has_text="hello, first")
    assert "mia" in row.inner_text()
    row.get_by_role("button", name="Revoke").click()
    owner.page.get_by_text("The link does not work any more.").wait_for()
    assert owner.page.evaluate(statuses, urls) == [404, 200]

    mia.open("/settings")
    assert mia.page.get_by_text("Links that others share").count() == 0
    own = mia.page.locator("section").filter(has_text="Shared links")
    assert "hello, first" not in own.inner_text()
    own.get_by_role("button", name="Revoke").click()
    mia.page.get_by_text("The link does not work any more.").wait_for()
    assert mia.page.evaluate(statuses, urls) == [404, 404]
