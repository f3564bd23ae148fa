"""``hookline plugins enable NAME`` hands over what is missing, and a clone brings its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import Place


@pytest.mark.slow
def test_what_is_missing_is_installed_and_switched_on(place: Place) -> None:
    place.core()
    place.wheel()
    done = place.desk.plugins("enable", "nimbus", answer="y\n")
    assert done.code == 0, done.err
    assert "nimbus is not installed yet." in done.out
    assert "install   hookline-nimbus 1.0" in done.out
    assert "Plugin nimbus is on." in done.out
    assert set(place.desk.lock()) == {"hookline-nimbus"}


@pytest.mark.slow
def test_no_leaves_everything_as_it_was(place: Place) -> None:
    place.core()
    place.wheel()
    done = place.desk.plugins("enable", "nimbus", answer="n\n")
    assert done.code == 1
    assert "nothing was changed" in done.err
    assert place.desk.version("hookline-nimbus") is None
    assert (place.desk.lock(), place.desk.switched()) == ({}, "")


@pytest.mark.slow
def test_without_a_terminal_the_command_with_yes_is_named_and_works(place: Place) -> None:
    place.core()
    place.wheel()
    done = place.desk.plugins("enable", "nimbus")
    assert done.code == 2
    assert "hookline plugins enable nimbus --yes" in done.err
    assert place.desk.version("hookline-nimbus") is None
    assert "Plugin nimbus is on." in place.desk.plugins("enable", "nimbus", "--yes").out


@pytest.mark.slow
def test_what_cannot_be_had_fails_as_an_install_does(place: Place) -> None:
    place.core()
    done = place.desk.plugins("enable", "nimbus", "--yes")
    assert done.code == 1
    assert "hookline-nimbus" in done.err
    assert place.desk.switched() == ""


@pytest.mark.slow
def test_a_misspelt_name_is_never_handed_over(place: Place) -> None:
    """Neither the shelf nor an index is asked for it, whoever has put something there."""
    place.core()
    place.desk.wheel("hookline-nimbsu", brings={"hookline.plugins": ["nimbsu"]})
    done = place.desk.plugins("enable", "nimbsu", "--yes")
    assert done.code == 2
    assert "Did you mean nimbus?" in done.err
    assert "install" not in done.err
    assert place.desk.version("hookline-nimbsu") is None


@pytest.mark.slow
def test_a_clone_brings_its_own(place: Place) -> None:
    """No index is asked; what it needs of the clone comes along, and all of it runs in place."""
    place.from_a_clone(editable=True)
    place.desk.wheel("hookline-nimbus", "9.9", brings={"hookline.plugins": ["nimbus"]})
    done = place.desk.plugins("enable", "nimbus", "--yes")
    assert done.code == 0, done.err
    assert "Plugin nimbus is on." in done.out
    folder = str(place.clone / "plugins" / "tools" / "nimbus")
    entry = place.desk.lock()["hookline-nimbus"]
    assert (entry["editable"], entry["version"]) == (folder, "0.1.0")
    assert place.desk.version("hookline-mist") == "0.1.0"

    for dist in ("hookline_nimbus", "hookline_mist"):
        place.desk.remove(dist)
    back = place.desk.plugins("install", "--yes")
    assert back.code == 0, back.err
    assert place.desk.version("hookline-mist") == "0.1.0"


@pytest.mark.slow
def test_a_clone_brings_its_own_with_pip(place_with_pip: Place) -> None:
    place_with_pip.from_a_clone(editable=True)
    done = place_with_pip.desk.plugins("install", "hookline-nimbus", "--yes")
    assert done.code == 0, done.err
    assert "Plugin nimbus is on." in done.out
    assert set(place_with_pip.desk.lock()) == {"hookline-nimbus"}


@pytest.mark.slow
def test_a_clone_that_is_not_run_in_place_is_copied_from(place: Place) -> None:
    place.from_a_clone(editable=False)
    done = place.desk.plugins("install", "hookline-nimbus", "--yes")
    assert done.code == 0, done.err
    assert place.desk.lock()["hookline-nimbus"]["editable"] is None
    assert (place.desk.site / "hookline_nimbus.py").exists()


@pytest.mark.slow
def test_a_version_that_the_clone_has_not_is_asked_for_elsewhere(place: Place) -> None:
    place.from_a_clone(editable=True)
    place.desk.wheel("hookline-nimbus", "9.9", brings={"hookline.plugins": ["nimbus"]})
    done = place.desk.plugins("install", "hookline-nimbus==9.9", "--yes")
    assert done.code == 0, done.err
    assert place.desk.version("hookline-nimbus") == "9.9"
