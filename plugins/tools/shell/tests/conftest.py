"""Stand-ins for what core gives a plugin."""

from __future__ import annotations

import logging
import os
import re
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from ipaddress import ip_address
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
from hookline.testing import guarded_paths
from hookline_hookspecs import Ask, Deny, Question, Stash, ToolCall
from hookline_hookspecs.own_code import own_code
from hookline_hookspecs.questions import DENY
from hookline_sandbox import Found, Method, found
from hookline_shell import Shell, ShellConfig

Verdict = Deny | Ask | None


class Fenced:
    """Guarded paths: the workspace alone, and no secret files in it."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace

    def resolve(self, path: str, *, base: Path | None = None) -> Path:
        if reason := self.check_path(path):
            raise PermissionError(reason)
        return (base or self.workspace) / path

    def check_path(self, path: str) -> str | None:
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

    def protection(self, path: str, workspace: Path | None = None) -> str | None:
        return guarded_paths(self.workspace, Path("/no-home")).protection(path, workspace)

    def read_only_places(self) -> tuple[str, ...]:
        return own_code()

    def caution(self, path: str) -> str | None:
        """A few of the files that the real list names."""
        known = r"(^|/)(\.vscode|\.husky|\.github/workflows)/|(^|/)(AGENTS|CLAUDE)\.md$"
        return "agents and programs follow it" if re.search(known, path) else None


class Http:
    """A client that refuses blocked names and addresses that are not public."""

    def check_url(self, url: str) -> str | None:
        host = urlsplit(url).hostname or ""
        try:
            public = ip_address(host).is_global
        except ValueError:
            public = not host.endswith(".blocked.example") and not re.fullmatch(r"[\dxa-f.]+", host)
        return None if public else f"The host {host} is refused."


def context(workspace: Path, session: str = "s1", **fields: Any) -> Any:
    """That of the terminal's operator, unless ``fields`` say otherwise."""
    kind = {"parent_id": fields.pop("parent_id", None), "kind": fields.pop("kind", "chat")}
    stash = Stash()
    stash.session = {}
    told: list[str] = []
    asked: list[Question] = []

    async def deny(question: Question) -> str:
        asked.append(question)
        return DENY

    given = {
        "ask": deny,
        "asked": asked,
        "origins": (),
        "channel": "terminal",
        "operator": True,
        "interactive": True,
        "approval": "ask",
        "approved": False,
        **fields,
    }
    return SimpleNamespace(
        paths=Fenced(workspace),
        session=SimpleNamespace(id=session, channel="terminal", chat_id="c", **kind),
        stash=stash,
        told=told,
        notify=told.append,
        **given,
    )


def hook_verdict(shell: Shell, ctx: Any, call: ToolCall) -> Verdict:
    """What the hook says of a call; without other plugins it waits for nothing."""
    try:
        shell.pre_tool(ctx, call).send(None)
    except StopIteration as ended:
        found: Verdict = ended.value
        return found
    raise AssertionError("the hook waits for something")


class Values:
    """The plugin's values, in memory."""

    def __init__(self) -> None:
        self._all: dict[str, Any] = {}

    async def get(self, key: str) -> Any:
        return self._all.get(key)

    async def set(self, key: str, value: Any) -> None:
        self._all[key] = value

    async def delete(self, key: str) -> None:
        self._all.pop(key, None)


def plugin(**config: Any) -> Shell:
    host: Any = SimpleNamespace(
        storage=SimpleNamespace(kv=Values()),
        log=logging.getLogger("shell"),
        http=Http(),
        env=os.environ,
        home=Path(tempfile.gettempdir()) / f"no-such-hookline-home-{os.getpid()}",
        paths=Fenced(Path.cwd()),
        services=SimpleNamespace(
            get=lambda protocol: None,
            provide=lambda protocol, service: None,
            add=lambda protocol, service: None,
        ),
        now=time.time,
    )
    shell = Shell(ShellConfig(**config), host)
    shell.setup(host)
    return shell


@pytest.fixture
async def make_plugin() -> AsyncIterator[Callable[..., Shell]]:
    """Makes a set-up plugin with settings; what it left running is ended."""
    plugins: list[Shell] = []

    def make(**config: Any) -> Shell:
        plugins.append(plugin(**config))
        return plugins[-1]

    yield make
    for made in plugins:
        await made.teardown(made.host)


@pytest.fixture
def make_context() -> Callable[..., Any]:
    """Makes the context of a turn in a workspace."""
    return context


@pytest.fixture
def fresh() -> Iterator[None]:
    """What sandbox can be made is found out anew, also for what comes after."""
    found.cache_clear()
    yield
    found.cache_clear()


@pytest.fixture
def sandboxes() -> None:
    """Skips the test where bubblewrap does not work."""
    if found().method is not Method.BUBBLEWRAP:
        pytest.skip(found().why)


@pytest.fixture
def namespaces(fresh: None, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A machine without bubblewrap; skips the test where users may not create namespaces."""
    here = found_without_bubblewrap(tmp_path_factory)
    if here.method is not Method.NAMESPACES:
        pytest.skip(here.why)


@pytest.fixture
def landlock(
    fresh: None, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine without bubblewrap and namespaces; skips the test where Landlock does not work."""
    monkeypatch.setattr("hookline_sandbox.methods.namespaces_failure", lambda: "they are refused")
    here = found_without_bubblewrap(tmp_path_factory)
    if here.method is not Method.LANDLOCK:
        pytest.skip(here.why)


def found_without_bubblewrap(tmp_path_factory: pytest.TempPathFactory) -> Found:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(programs(tmp_path_factory.mktemp("programs"))))
        return found()


@pytest.fixture
def no_sandbox(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which no sandbox can be made."""
    here = Found(Method.NONE, "there is no bwrap on this machine's PATH", "install bubblewrap")

    def none() -> Found:
        return here

    none.cache_clear = lambda: None  # type: ignore[attr-defined]
    modules = ("command_guard", "sandbox_command", "sandbox_runner")
    shell = [f"hookline_shell.{name}" for name in modules]
    for place in (*shell, "hookline_sandbox.sandbox", "hookline_sandbox"):
        monkeypatch.setattr(f"{place}.found", none)


def programs(folder: Path) -> Path:
    """A folder for ``PATH`` with the shell and no bwrap."""
    (folder / "bash").symlink_to("/bin/bash")
    return folder


@pytest.fixture(params=["bare", "sandboxes", "landlock"])
async def shell(request: pytest.FixtureRequest) -> AsyncIterator[Shell]:
    """A plugin with default settings, without a sandbox and with each kind; its jobs are ended."""
    if request.param != "bare":
        request.getfixturevalue(request.param)
    made = plugin(sandbox={"enabled": request.param != "bare"})
    yield made
    await made.teardown(made.host)


@pytest.fixture
async def bare_shell() -> AsyncIterator[Shell]:
    """The same without the sandbox alone."""
    made = plugin(sandbox={"enabled": False})
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
