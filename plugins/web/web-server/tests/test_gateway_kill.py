"""A killed gateway, and a person removed by another process."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.web import gateway, run

from .test_command import LEAN, SCRIPT


@pytest.mark.slow
def test_login_survives_gateway_kill_and_ends_with_person(tmp_path: Path) -> None:
    with gateway(tmp_path, SCRIPT, **LEAN) as running, running.client("mia") as mia:
        running.stop()
        running.start()  # what the killed one left in the store is not taken for a server
        assert running.link()["url"].startswith(running.url)
        assert mia.get("/login/who").json() == {"name": "mia"}
        with mia.stream("GET", "/api/events") as stream:
            assert stream.status_code == 200
            done = run(tmp_path, "pairing", "revoke", "web:mia")
            assert done.returncode == 0, done.stderr
            assert stream.read() is not None  # it ends
        assert mia.get("/login/who").json() == {"name": None}
        running.link("mia")
        assert mia.get("/api/state").status_code == 401
