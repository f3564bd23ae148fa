"""A model that knows the name of a secret writes references to it wherever a tool takes a text."""

from __future__ import annotations

import base64
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hookline.testing import Harness, calls
from hookline_hookspecs import Plugin, tool

VaultPlugin = pytest.importorskip("hookline_vault").VaultPlugin
CANARY = "canary-4c1d-of-the-vault"
REFERENCES = ("vault:api", "${vault:api}", "{{vault:api}}", "{vault:api}", "$VAULT_API", "{}")


class Sends(Plugin):
    """A tool that keeps what it was given, and one whose server echoes the secret, encoded."""

    @tool
    def send(self, url: str, header: str, command: str) -> str:
        """Send something."""
        self.got = f"{url} {header} {command}"
        return self.got

    @tool
    def echo(self, form: str) -> str:
        """Return what a server answers."""
        return {
            "plain": f"you sent {CANARY}",
            "base64": base64.b64encode(f"key:{CANARY}".encode()).decode(),
            "hex": CANARY.encode().hex(),
            "escaped": "".join(f"%{byte:02x}" for byte in CANARY.encode()),
        }[form]


@pytest.fixture
def h(tmp_path: Path, harness: Callable[..., Harness]) -> Harness:
    """A home with a secret that is in use: its value is known to the process."""
    with closing(harness(VaultPlugin, home=tmp_path / "home")) as made:
        assert made.cli("vault rekey --to file").exit_code == 0
        assert made.cli("vault set api", input=f"{CANARY}\n").exit_code == 0
    return harness(VaultPlugin, Sends, home=tmp_path / "home")


@pytest.mark.long
@pytest.mark.parametrize("reference", REFERENCES)
def test_reference_in_an_argument_stays_a_text(h: Harness, reference: str) -> None:
    places = {
        "url": f"https://a.example/{reference}?q={reference}",
        "header": f"X-Key: {reference}",
        "command": f"echo {reference} > out.txt",
    }
    h.model.steps[:] = [calls("send", **places), "done"]
    h.send("go")
    assert h.plugin(Sends).got == " ".join(places.values())
    assert CANARY not in "".join(body.decode() for body in h.model.bodies)


@pytest.mark.long
@pytest.mark.parametrize("form", ["plain", "base64", "hex", "escaped"])
def test_used_secret_that_a_server_echoes_does_not_reach_the_model(h: Harness, form: str) -> None:
    async def use() -> None:
        await h.aopen()
        await h.plugin(VaultPlugin).secrets.use("api")

    h.run(use())
    h.model.steps[:] = [calls("echo", form=form), "done"]
    h.send("go")
    said = "".join(body.decode() for body in h.model.bodies)
    encoded = (CANARY, CANARY.encode().hex(), "%63%61%6e%61%72%79", "Y2FuYXJ5", "Y2FuYX")
    assert [one for one in encoded if one in said] == []
