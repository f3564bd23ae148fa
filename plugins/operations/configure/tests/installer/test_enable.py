"""``hookline plugins enable NAME`` installs what is missing, from the clone if there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import NimbusEnv


@pytest.mark.slow
def test_enable_installs_missing_plugin_and_turns_it_on(nimbus_env: NimbusEnv) -> None:
    nimbus_env.core()
    nimbus_env.wheel()
    done = nimbus_env.python_env.plugins("enable", "nimbus", answer="y\n")
    assert done.code == 0, done.err
    assert "nimbus is not installed yet." in done.out
    assert "install   hookline-nimbus 1.0" in done.out
    assert "Plugin nimbus is on." in done.out
    assert set(nimbus_env.python_env.lock()) == {"hookline-nimbus"}


@pytest.mark.slow
def test_enable_answered_no_changes_nothing(nimbus_env: NimbusEnv) -> None:
    nimbus_env.core()
    nimbus_env.wheel()
    done = nimbus_env.python_env.plugins("enable", "nimbus", answer="n\n")
    assert done.code == 1
    assert "nothing was changed" in done.err
    assert nimbus_env.python_env.version("hookline-nimbus") is None
    assert (nimbus_env.python_env.lock(), nimbus_env.python_env.switched()) == ({}, "")


@pytest.mark.slow
def test_enable_without_terminal_needs_yes_option(nimbus_env: NimbusEnv) -> None:
    nimbus_env.core()
    nimbus_env.wheel()
    done = nimbus_env.python_env.plugins("enable", "nimbus")
    assert done.code == 2
    assert "hookline plugins enable nimbus --yes" in done.err
    assert nimbus_env.python_env.version("hookline-nimbus") is None
    assert "Plugin nimbus is on." in nimbus_env.python_env.plugins("enable", "nimbus", "--yes").out


@pytest.mark.slow
def test_enable_of_unavailable_dist_fails_like_install(nimbus_env: NimbusEnv) -> None:
    nimbus_env.core()
    done = nimbus_env.python_env.plugins("enable", "nimbus", "--yes")
    assert done.code == 1
    assert "hookline-nimbus" in done.err
    assert nimbus_env.python_env.switched() == ""


@pytest.mark.slow
def test_misspelt_plugin_name_is_never_installed(nimbus_env: NimbusEnv) -> None:
    """Neither the shelf nor an index is asked for it, whoever has put something there."""
    nimbus_env.core()
    nimbus_env.python_env.wheel("hookline-nimbsu", brings={"hookline.plugins": ["nimbsu"]})
    done = nimbus_env.python_env.plugins("enable", "nimbsu", "--yes")
    assert done.code == 2
    assert "Did you mean nimbus?" in done.err
    assert "install" not in done.err
    assert nimbus_env.python_env.version("hookline-nimbsu") is None


@pytest.mark.slow
def test_enable_installs_from_the_clone_in_place(nimbus_env: NimbusEnv) -> None:
    """No index is asked; what it needs of the clone comes along, and all of it runs in place."""
    nimbus_env.from_a_clone(editable=True)
    nimbus_env.python_env.wheel("hookline-nimbus", "9.9", brings={"hookline.plugins": ["nimbus"]})
    done = nimbus_env.python_env.plugins("enable", "nimbus", "--yes")
    assert done.code == 0, done.err
    assert "Plugin nimbus is on." in done.out
    folder = str(nimbus_env.clone / "plugins" / "tools" / "nimbus")
    entry = nimbus_env.python_env.lock()["hookline-nimbus"]
    assert (entry["editable"], entry["version"]) == (folder, "0.1.0")
    assert nimbus_env.python_env.version("hookline-mist") == "0.1.0"

    for dist in ("hookline_nimbus", "hookline_mist"):
        nimbus_env.python_env.remove(dist)
    back = nimbus_env.python_env.plugins("install", "--yes")
    assert back.code == 0, back.err
    assert nimbus_env.python_env.version("hookline-mist") == "0.1.0"


@pytest.mark.slow
def test_install_from_the_clone_works_with_pip(nimbus_env_with_pip: NimbusEnv) -> None:
    nimbus_env_with_pip.from_a_clone(editable=True)
    done = nimbus_env_with_pip.python_env.plugins("install", "hookline-nimbus", "--yes")
    assert done.code == 0, done.err
    assert "Plugin nimbus is on." in done.out
    assert set(nimbus_env_with_pip.python_env.lock()) == {"hookline-nimbus"}


@pytest.mark.slow
def test_install_from_a_non_editable_clone_copies_files(nimbus_env: NimbusEnv) -> None:
    nimbus_env.from_a_clone(editable=False)
    done = nimbus_env.python_env.plugins("install", "hookline-nimbus", "--yes")
    assert done.code == 0, done.err
    assert nimbus_env.python_env.lock()["hookline-nimbus"]["editable"] is None
    assert (nimbus_env.python_env.site / "hookline_nimbus.py").exists()


@pytest.mark.slow
def test_version_missing_in_clone_is_installed_from_index(nimbus_env: NimbusEnv) -> None:
    nimbus_env.from_a_clone(editable=True)
    nimbus_env.python_env.wheel("hookline-nimbus", "9.9", brings={"hookline.plugins": ["nimbus"]})
    done = nimbus_env.python_env.plugins("install", "hookline-nimbus==9.9", "--yes")
    assert done.code == 0, done.err
    assert nimbus_env.python_env.version("hookline-nimbus") == "9.9"
