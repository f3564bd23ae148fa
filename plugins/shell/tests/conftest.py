"""Stand-ins for what core gives a plugin, and the judge as the plugin uses it."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import AsyncIterator, Callable
from ipaddress import ip_address
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
from hookline_hookspecs import Ask, Deny, ToolCall
from hookline_shell import Shell, ShellConfig
from hookline_shell.sandbox import refusal

Verdict = Deny | Ask | None


class Fenced:
    """Guarded paths: the workspace alone, and no secret files in it."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace

    def resolve(self, path: str, *, base: Path | None = None) -> Path:
        if reason := self.judge(path):
            raise PermissionError(reason)
        return (base or self.workspace) / path

    def judge(self, path: str) -> str | None:
        whole = os.path.normpath(self.workspace / Path(path).expanduser())
        if whole != str(self.workspace) and not whole.startswith(f"{self.workspace}/"):
            return f"{path} is outside the workspace"
        name = Path(whole).name.lower()
        if name.startswith(".env") and not name.endswith((".example", ".sample", ".template")):
            return f"{path} may hold secrets"
        secret = {".ssh", ".aws", ".kube", ".netrc", "id_rsa", ".git-credentials"}
        if secret & set(Path(whole).parts) or name.endswith((".pem", ".key")):
            return f"{path} may hold secrets"
        return None


class Http:
    """A client that refuses blocked names and addresses that are not public."""

    def judge(self, url: str) -> str | None:
        host = urlsplit(url).hostname or ""
        try:
            public = ip_address(host).is_global
        except ValueError:
            public = not host.endswith(".blocked.example") and not re.fullmatch(r"[\dxa-f.]+", host)
        return None if public else f"The host {host} is refused."


def context(workspace: Path, session: str = "s1") -> Any:
    return SimpleNamespace(paths=Fenced(workspace), session=SimpleNamespace(id=session))


def plugin(**config: Any) -> Shell:
    host: Any = SimpleNamespace(log=logging.getLogger("shell"), http=Http())
    shell = Shell(ShellConfig(**config), host)
    shell.setup(host)
    return shell


@pytest.fixture
def make_plugin() -> Callable[..., Shell]:
    """Makes a set-up plugin with settings."""
    return plugin


@pytest.fixture
def make_context() -> Callable[..., Any]:
    """Makes the context of a turn in a workspace."""
    return context


@pytest.fixture
def sandboxes() -> None:
    """Skips the test where no sandbox can be made."""
    if found := refusal():
        pytest.skip(found.why)


@pytest.fixture(params=["bare", "sandboxed"])
async def shell(request: pytest.FixtureRequest) -> AsyncIterator[Shell]:
    """A plugin with default settings, without and with the sandbox; its jobs are ended."""
    if request.param == "sandboxed":
        request.getfixturevalue("sandboxes")
    made = plugin(sandbox={"enabled": request.param == "sandboxed"})
    yield made
    await made.teardown(made.host)


@pytest.fixture
async def bare_shell() -> AsyncIterator[Shell]:
    """The same without the sandbox alone."""
    made = plugin()
    yield made
    await made.teardown(made.host)


@pytest.fixture
async def sandboxed(sandboxes: None) -> AsyncIterator[Shell]:
    """The same with the sandbox alone."""
    made = plugin(sandbox={"enabled": True})
    yield made
    await made.teardown(made.host)


@pytest.fixture
def ctx(tmp_path: Path) -> Any:
    """A turn's context whose workspace is the test's own folder."""
    return context(tmp_path)


@pytest.fixture(scope="session")
def verdict() -> Callable[..., Verdict]:
    """What the hook says of a command in the workspace ``/work/project``."""
    shell = plugin()
    ctx = context(Path("/work/project"))

    def judge(command: str, workdir: str | None = None) -> Verdict:
        arguments = {"command": command} | ({"workdir": workdir} if workdir else {})
        found = shell.pre_tool(ctx, ToolCall("c1", "bash", arguments))
        assert found is None or isinstance(found, Deny | Ask)
        assert found is None or "the judge itself failed" not in found.reason
        return found

    return judge
