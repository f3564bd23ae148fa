"""Model, mode and reasoning at the message box."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ..browser import Gateway
from .conftest import Window

New = Callable[..., Window]
MODEL = [{"when": ".", "text": "answered", "repeat": True}]


@pytest.fixture
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    made = Gateway(tmp_path_factory.mktemp("settings"))
    made.configure(MODEL, review=False, reasoning=True)
    made.start()
    yield made
    made.close()


@pytest.fixture
def logins() -> dict[str, Any]:
    return {}


@pytest.mark.slow
def test_mode_is_chosen_at_the_message_box_and_kept_for_the_chat(
    window: New, gateway: Gateway
) -> None:
    one = window().open()
    mode = one.page.get_by_role("combobox", name="Mode", exact=True)
    assert mode.input_value() == "auto"
    mode.select_option("plan")  # of a chat that does not exist yet
    one.say("hello")
    one.settled()
    one.page.reload()
    one.settled()
    mode.wait_for()
    one.until("() => document.querySelector('select[aria-label=Mode]').value === 'plan'")
    shown = one.log.inner_text()
    assert "/mode" not in shown
    assert "Mode plan" not in shown
    mode.select_option("ask")
    one.page.wait_for_timeout(500)
    chat = one.page.url.removeprefix(one.url)
    one.open("/")
    other = window(like=one).open(chat)
    other.until("() => document.querySelector('select[aria-label=Mode]')?.value === 'ask'")
    assert one.page.get_by_role("combobox", name="Model").input_value().startswith("scripted/")
    assert one.page.get_by_role("combobox", name="Reasoning").count() == 1


@pytest.mark.slow
def test_model_is_chosen_for_one_chat(window: New, gateway: Gateway, tmp_path: Any) -> None:
    second = tmp_path / "second.yaml"
    second.write_text('{"steps": [{"when": ".", "text": "the other model", "repeat": true}]}')
    one = window().open()
    one.say(f"/model scripted/{second}")
    one.log.get_by_text("Model: scripted/").wait_for()
    one.say("hello")
    one.settled()
    assert one.said() == ["the other model"]
    name = "() => document.querySelector('select[aria-label=Model]')?.value"
    one.until(f"{name.replace('() =>', 'path => (')} === `scripted/${{path}}`)", arg=str(second))
    first = one.page.locator("select[aria-label=Model] option").evaluate_all(
        "all => all.map(one => one.value).find(one => !one.endsWith('second.yaml'))"
    )
    one.page.get_by_role("combobox", name="Model").select_option(first)
    one.page.wait_for_timeout(500)
    one.say("hello again")
    one.settled(2)
    assert one.said()[-1] == "answered"
