"""Stand-ins for what core gives a plugin, and the judge as the plugin uses it."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hookline_hookspecs import Ask, Deny, ToolCall
from hookline_shell import Shell, ShellConfig

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
        if {".ssh", ".aws", ".kube", ".netrc", "id_rsa"} & set(Path(whole).parts):
            return f"{path} may hold secrets"
        return None


def context(workspace: Path, session: str = "s1") -> Any:
    return SimpleNamespace(paths=Fenced(workspace), session=SimpleNamespace(id=session))


def plugin(**config: Any) -> Shell:
    host: Any = SimpleNamespace(log=logging.getLogger("shell"))
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
async def shell(tmp_path: Path) -> AsyncIterator[Shell]:
    """A plugin with default settings; its jobs are ended afterwards."""
    made = plugin()
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
        return found

    return judge
