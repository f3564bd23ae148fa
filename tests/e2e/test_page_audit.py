"""Changes made through the web page are audited at once, with the person."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness
from hookline.testing.pages import PageClient
from hookline_audit import AuditPlugin
from hookline_configure import Configure
from hookline_hookspecs import Plugin
from hookline_hookspecs.web import Actions, Form
from pydantic import BaseModel


class ProbeConfig(BaseModel):
    """A setting."""

    count: int = 3


class Probe(Plugin[ProbeConfig]):
    """A plugin with a setting."""


@pytest.mark.slow
def test_settings_change_is_audited_when_it_is_made(
    harness: Callable[..., Harness], tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    file = home / "config.yaml"
    file.write_text("plugins:\n  audit: true\n  probe: {count: 3}\n")
    h = harness(AuditPlugin, Configure, Probe, home=home)
    site = PageClient(h)

    def rows() -> list[tuple[str, str, Any]]:
        shown = h.cli("audit show --kind config --json").stdout
        found = sorted(map(json.loads, shown.splitlines()), key=lambda row: row["n"])
        return [(row["verdict"], row["actor"], row["detail"].get("what")) for row in found]

    view = site.get("/plugins/probe")
    (before,) = rows()
    (form,) = [one for one in view.parts if isinstance(one, Form)]
    view = site.post(form.path, {"count": "5"})
    (actions,) = [one for one in view.parts if isinstance(one, Actions)]
    assert rows() == [before]
    site.post(actions.items[0].path, actions.items[0].fields)
    assert "count: 5" in file.read_text()
    changed = ("changed", "web:owner", "plugins.probe")
    assert rows() == [before, changed]
    site.post("/plugins/probe/disable")
    assert rows() == [before, changed, changed]
    assert h.cli("audit verify").exit_code == 0
