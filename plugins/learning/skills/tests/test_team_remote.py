"""A team's repository on another machine: over ssh, and over https from git's own server."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hookline.testing import Harness
from hookline_skills.team import team_skills
from support import git_server

from .team_crew import Crew

SSH = """#!{python}
import os, sys
with open({log!r}, "a") as log:
    log.write(repr(sys.argv[1:]) + "\\n")
if os.path.exists({refuse!r}):
    sys.stderr.write("Host key verification failed.\\n")
    sys.exit(255)
os.execv("/bin/sh", ["/bin/sh", "-c", sys.argv[-1]])
"""
"""Stands for ssh: runs here what it is to run there, and knows no host while a file is there."""


class Wire:
    """A way to the repository: its ``address``, and the commands that ssh got."""

    def __init__(self, address: str, log: Path, refuse: Path) -> None:
        self.address, self.log, self.refuse = address, log, refuse


@pytest.fixture(params=["ssh", "https"])
def wire(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Wire]:
    bare, log, refuse = (tmp_path / name for name in ("team.git", "ssh.log", "refuse"))
    monkeypatch.setattr(team_skills, "GIT_REFRESH_INTERVAL", 0.0)
    if request.param == "ssh":
        folder = tmp_path / "bin"
        folder.mkdir()
        program = folder / "ssh"
        program.write_text(SSH.format(python=sys.executable, log=str(log), refuse=str(refuse)))
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:/usr/local/bin:/usr/bin:/bin")
        yield Wire(f"git+ssh://git@skills.example{bare}", log, refuse)
        return
    if shutil.which("openssl") is None:
        pytest.skip("needs the openssl command")
    served = tmp_path / "served"
    served.mkdir()
    (served / "skills.git").symlink_to(bare)
    with git_server.serving(served, tmp_path) as server:
        monkeypatch.setenv("SSL_CERT_FILE", str(server.certificate))
        monkeypatch.setenv("GIT_SSL_CAINFO", str(server.certificate))
        yield Wire(f"git+{server.url}", log, refuse)


@pytest.mark.slow
def test_team_skills_are_shared_over_ssh_and_https(
    wire: Wire, tmp_path: Path, harness: Callable[..., Harness]
) -> None:
    bare = tmp_path / "team.git"
    subprocess.run(["git", "init", "-q", "--bare", str(bare)], check=True)
    setting = ("config", "http.receivepack", "true")
    subprocess.run(["git", f"--git-dir={bare}", *setting], check=True)
    crew = Crew(tmp_path, harness, address=wire.address)
    crew.share()
    assert "2. Ship it." in crew.cid.loaded("ship-it")
    crew.ann.write("ship-it", "1. Test it.\n2. Ship it.\n")
    crew.ann.do("propose ship-it")
    crew.ben.do("review --approve ship-it")
    crew.cid.restart()
    assert "1. Test it." in crew.cid.loaded("ship-it")
    crew.ben.do("revoke ship-it --why wrong")
    crew.cid.restart()
    assert crew.cid.loaded("ship-it") == ""
    if not wire.address.startswith("git+ssh"):
        return
    asked = wire.log.read_text().splitlines()
    assert all("BatchMode=yes" in one and "StrictHostKeyChecking=yes" in one for one in asked)
    assert all("'git@skills.example'" in one for one in asked)
    wire.refuse.touch()
    crew.ann.write("other")
    assert "Host key verification failed" in crew.ann.fails("propose other")
