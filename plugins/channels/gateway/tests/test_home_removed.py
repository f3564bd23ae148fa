"""The home of a running gateway is deleted: no message is accepted that would be lost."""

from __future__ import annotations

import shutil
from pathlib import Path
from urllib.error import HTTPError

import pytest

from .conftest import Gateways, Platform, end

GONE = "was removed or replaced while it was in use"


def refused(gateways: Gateways, id_: str) -> str:
    """The response to a message that is not accepted."""
    with pytest.raises(HTTPError) as caught:
        gateways.say(id_)
    assert caught.value.code == 503
    return caught.value.read().decode()


@pytest.mark.slow
@pytest.mark.sqlite
def test_messages_are_refused_until_home_is_back(
    gateways: Gateways, platform: Platform, tmp_path: Path
) -> None:
    gateways.configure(platform)
    process, _ = gateways.start()
    assert gateways.say("before") == 202
    assert platform.answer_to("before") == "answered"
    away = tmp_path / "away"
    shutil.move(gateways.home, away)
    for number in range(3):
        refused(gateways, f"lost-{number}")

    # The command does not mend it by an empty database, and says that no gateway is well.
    code, said, err = gateways.run("health")
    assert code == 1, said + err
    assert "gateway" in said + err
    assert not (gateways.home / "hookline.db").exists()
    refused(gateways, "lost-3")

    if gateways.home.exists():
        shutil.rmtree(gateways.home)
    shutil.move(away, gateways.home)
    assert gateways.say("back") == 202
    assert platform.answer_to("back") == "answered"
    code, output = end(process)
    assert code == 0
    said = f"hookline.store: The database {gateways.home / 'hookline.db'} {GONE}"
    assert output.count(said) == 1, output
    assert not [id_ for id_ in platform.texts if id_.startswith("lost")]


@pytest.mark.slow
@pytest.mark.sqlite
def test_restart_after_deleted_home_starts_empty(gateways: Gateways, platform: Platform) -> None:
    gateways.configure(platform)
    process, _ = gateways.start()
    shutil.rmtree(gateways.home)
    refused(gateways, "lost")
    assert not (gateways.home / "hookline.db").exists()
    process.kill()
    process.communicate()
    gateways.configure(platform)
    process, _ = gateways.start()
    assert gateways.say("new") == 202
    assert platform.answer_to("new") == "answered"
    assert end(process)[0] == 0
