"""The plugin in a running core: silent while all is well, one sentence when it is not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from hookline.testing import Harness, PluginContract
from hookline_hookspecs import Check, CheckResult
from hookline_installer import Installer

GONE = {"dist": "acme-gone", "version": "1.2", "spec": "acme-gone", "plugins": ["gone"]}
HERE = {"dist": "hookline-configure", "version": "0", "spec": ".", "plugins": ["installer"]}
HALF = HERE | {"plugins": ["installer", "former"]}


Make = Callable[..., Harness]


def write(home: Path, *entries: dict[str, object]) -> Path:
    """A ``plugins.lock`` in the home; returns the home."""
    home.mkdir(parents=True, exist_ok=True)
    (home / "plugins.lock").write_text(json.dumps({"version": 1, "dists": entries}))
    return home


def check(h: Harness) -> CheckResult:
    """What the plugin's one check for the doctor says."""
    found: list[Check] = []
    h.plugin(Installer).register_checks(found.append)
    (one,) = found
    result = one.run()
    assert isinstance(result, CheckResult)
    return result


def test_missing_plugin_gives_one_notice(harness: Make, tmp_path: Path) -> None:
    h = harness(Installer, home=write(tmp_path / "home", HERE, GONE), model=["hi"] * 3)
    (notice,) = h.send("hello").notices
    assert "plugin gone (acme-gone 1.2)" in notice.text
    assert "hookline-configure" not in notice.text
    assert "`hookline plugins install`" in notice.text
    assert h.send("hello").notices == ()
    assert h.send("hello", session="another").notices == ()


def test_plugin_no_longer_in_its_dist_is_reported_missing(harness: Make, tmp_path: Path) -> None:
    h = harness(Installer, home=write(tmp_path / "home", HALF), model=["hi"])
    (notice,) = h.send("hello").notices
    assert "former" in notice.text
    assert check(h).ok is False


def test_complete_or_empty_lock_gives_no_notice(harness: Make, tmp_path: Path) -> None:
    for home in (write(tmp_path / "full", HERE), tmp_path / "none"):
        h = harness(Installer, home=home, model=["hi"])
        assert h.send("hello").notices == ()
        assert check(h).ok is True


def test_missing_plugin_notice_is_only_for_the_terminal(harness: Make, tmp_path: Path) -> None:
    h = harness(Installer, home=write(tmp_path / "home", GONE), model=["hi", "hi"])
    h.run(h.channel.say("hello"))
    h.run(h.channel.replies(1))
    assert h.notices == []
    assert len(h.send("hello").notices) == 1


def test_damaged_lock_gives_a_notice_and_stops_nothing(harness: Make, tmp_path: Path) -> None:
    home = write(tmp_path / "home")
    (home / "plugins.lock").write_text("{")
    h = harness(Installer, home=home, model=["hi"])
    sent = h.send("hello")
    assert sent.text == "hi"
    assert [str(home / "plugins.lock") in notice.text for notice in sent.notices] == [True]
    found = check(h)
    assert (found.ok, str(home / "plugins.lock") in found.fix) == (False, True)
    assert (home / "plugins.lock").read_text() == "{"


def test_installer_adds_nothing_to_prompt_or_help(harness: Make) -> None:
    h = harness(Installer, model=["hi"])
    h.send("hello")
    assert h.model.requests[0].tools == ()
    assert "install" not in h.model.requests[0].system.replace(str(h.workspace), "")
    assert "install" not in h.send("/help").text


class TestInstallerContract(PluginContract):
    """The contract of every plugin."""

    plugin = Installer
