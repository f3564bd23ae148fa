"""A guard that is on in config but failed to load: nothing that it would have guarded happens."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hookline.testing import Harness, calls
from hookline_configure import Configure
from hookline_hookspecs import Context, Host, Plugin, command, hookimpl, tool
from hookline_permissions import Permissions
from hookline_redact import Redact

Make = Callable[..., Harness]
REASON = "the guard 'permissions' is on in config.yaml but could not be loaded"


class Work(Plugin):
    """A tool that leaves a trace, and a command that starts a turn of its own."""

    done: list[str]

    def __init__(self, config: object, host: object) -> None:
        super().__init__(config, host)  # type: ignore[arg-type]
        type(self).done = []

    @tool
    def act(self) -> str:
        """Change something."""
        self.done.append("act")
        return "done"

    @command("/nested")
    async def nested(self, ctx: Context, args: str) -> str:
        """Run a turn without a message of a person."""
        return (await self.host.run_turn("go", kind="job")).reply


def broken(harness: Make) -> Harness:
    return harness(
        Permissions,
        Work,
        config={"permissions": {"mode": "yolo"}},
        model=[calls("act"), "done"],
        strict=False,
    )


@pytest.mark.parametrize("text", ["please act", "/nested"])
def test_no_message_is_read_while_a_guard_is_missing(harness: Make, text: str) -> None:
    h = broken(harness)
    answer = h.send(text).text
    assert REASON in answer
    assert "permissions.mode" in answer
    assert "hookline plugins disable permissions" in answer
    assert h.model.requests == []
    assert Work.done == []


async def test_no_model_is_called_by_a_plugins_turn_while_a_guard_is_missing(harness: Make) -> None:
    h = broken(harness)
    runtime = await h.aopen()
    host = runtime.plugins.host("Work".lower())
    assert host is not None
    turn = await host.run_turn("go", kind="job")
    assert REASON in turn.reply
    assert h.model.requests == []


def fails(self: object, host: Host) -> None:
    """A ``setup``."""
    raise OSError("no disk")


def test_guard_that_failed_in_setup_is_tried_again_at_each_message(
    harness: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Permissions, "setup", hookimpl(fails))
    config = {"permissions": {"deny": ["act"]}}
    h = harness(Permissions, Work, config=config, model=[calls("act"), "done"], strict=False)
    assert "no disk" in h.send("please act").text
    assert "the next message tries again" in h.send("please act").text
    assert h.model.requests == []
    monkeypatch.undo()
    assert h.send("please act").text == "done"
    assert Work.done == []  # it is denied
    assert h.states()["permissions"] == ("on", "")


def test_guard_that_fails_again_is_logged_without_a_traceback(
    harness: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Permissions, "setup", hookimpl(fails))
    h = harness(Permissions, config={"permissions": {}}, model=["hi"], strict=False)
    for _ in range(2):
        assert "no disk" in h.send("hello").text
    found = [one for one in caplog.records if "permissions is not on" in one.getMessage()]
    assert len(found) > 1
    assert [bool(one.exc_info) for one in found] == [True] + [False] * (len(found) - 1)


@pytest.mark.parametrize(
    ("text", "answer"),
    [("plugins: {permissions: false}", "hi"), ("plugins: {permissions: {mode: ask}}", "hi"),
     ("plugins: {permissions: {mode: yolo}}", REASON), ("plugins: [", REASON), ("", REASON)],
)  # fmt: skip
def test_missing_guard_is_missing_until_config_turns_it_off_or_is_corrected(
    harness: Make, text: str, answer: str
) -> None:
    h = harness(
        Permissions, Configure, config={"permissions": {"mode": "yolo"}}, model=["hi"], strict=False
    )
    h.home.mkdir(parents=True, exist_ok=True)
    file = h.home / "config.yaml"
    file.write_text("plugins: {permissions: {mode: yolo}}\n")
    assert REASON in h.send("hello").text
    file.write_text(text)
    assert answer in h.send("hello").text


def test_guard_that_is_off_in_config_is_not_missing(harness: Make) -> None:
    h = harness(Permissions, Work, config={"permissions": False}, model=["hi"])
    assert h.send("hello").text == "hi"


def test_other_plugin_with_invalid_settings_does_not_stop_turns(harness: Make) -> None:
    h = harness(Redact, Work, config={"work": {"enabled": 5}}, model=["hi"], strict=False)
    assert h.send("hello").text == "hi"
