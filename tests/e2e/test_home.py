"""The home folder: permissions, secrets that are never shown, and creation errors."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.machine import Machine, is_sentence
from support.model_servers import openai

SECRET = "sk-proj-0123456789abcdefSECRET"
LISTED = "never-to-be-seen-in-a-list-77"
HEADER = "Bearer header-secret-4242"


@pytest.mark.long
@pytest.mark.sqlite
def test_home_is_private_to_its_owner(hello_machine: Machine) -> None:
    assert hello_machine.run("run", "hello").code == 0
    assert modes(hello_machine.home) == {"folder": {0o700}, "file": {0o600}}


@pytest.mark.slow
def test_new_files_in_an_existing_home_are_private(hello_machine: Machine) -> None:
    hello_machine.config("plugins: {files: {read_max_chars: lots}}\n").chmod(0o600)
    assert hello_machine.run("run", "hello").code == 0
    assert (hello_machine.home / "logs" / "hookline.log").read_text()
    assert modes(hello_machine.home) == {"folder": {0o700}, "file": {0o600}}


def modes(home: Path) -> dict[str, set[int]]:
    """The permissions below a folder, it included."""
    found: dict[str, set[int]] = {"folder": set(), "file": set()}
    for path in [home, *home.rglob("*")]:
        found["folder" if path.is_dir() else "file"].add(path.stat().st_mode & 0o777)
    return found


@pytest.mark.slow
def test_secrets_are_never_shown_or_stored(machine: Machine) -> None:
    machine.config(
        "model: openai/gpt-5\n"
        "providers:\n"
        "  openai:\n"
        "    base_url: ${BASE}\n"
        "    api_key: ${MY_KEY}\n"
        f"    headers: {{Authorization: '{HEADER}'}}\n"
        "    max_retries: 0\n"
        f"plugins:\n  ghost: {{token: {LISTED}, hook_url: 'https://me:{LISTED}@host/x'}}\n"
    )
    (machine.home / ".env").write_text(f"MY_KEY={SECRET}\n")
    (machine.home / ".env").chmod(0o600)
    wire = openai(["ok"])
    with wire.server:
        machine.env["BASE"] = wire.server.base_url
        done = machine.run("run", "hello")
        refused = machine.run("run", "hello", "--json", env={"BASE": f"{wire.server.base_url}/x"})
    assert (done.code, done.out) == (0, "ok\n"), done.err
    assert refused.code == 1
    seen = [done, refused]
    for command in (
        ["config", "show", "--json"],
        ["config", "check"],
        ["doctor"],
        ["plugins", "info", "ghost"],
    ):
        seen.append(machine.run(*command))
    assert "********" in seen[2].out
    for text in (SECRET, LISTED, HEADER.split()[1]):
        assert all(text not in each.out + each.err for each in seen)
        holders = [p for p in machine.home.rglob("*") if p.is_file()]
        found = {path.name for path in holders if text.encode() in path.read_bytes()}
        assert found <= {"config.yaml", ".env"}


@pytest.mark.slow
def test_secrets_are_read_from_home_and_not_from_the_workspace(machine: Machine) -> None:
    (machine.workspace / ".env").write_text("OPENAI_API_KEY=stolen\nOPENAI_BASE_URL=http://x\n")
    (machine.workspace / "config.yaml").write_text("model: openai/stolen\n")
    assert machine.run("run", "hello").code == 2


@pytest.mark.slow
@pytest.mark.parametrize("place", ["file", "kernel"])
def test_home_that_cannot_be_created_gives_an_error_sentence(
    hello_machine: Machine, place: str
) -> None:
    (hello_machine.workspace / "file").write_text("in the way")
    home = hello_machine.workspace / "file" / "home" if place == "file" else Path("/proc/nowhere")
    hello_machine.env["HOOKLINE_HOME"] = str(home)
    for command in (["run", "hello"], ["config", "set", "trace", "true"]):
        done = hello_machine.run(*command)
        assert done.code in (1, 2)
        assert str(home) in done.err
        assert is_sentence(done.err)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to the superuser")
def test_home_without_write_permission_gives_an_error_sentence(hello_machine: Machine) -> None:
    hello_machine.home.mkdir(mode=0o500)
    done = hello_machine.run("run", "hello")
    assert done.code in (1, 2)
    assert is_sentence(done.err)


@pytest.mark.slow
def test_home_is_found_without_environment_variables(hello_machine: Machine) -> None:
    model = hello_machine.env.pop("HOOKLINE_MODEL")
    inherited = {k: v for k, v in hello_machine.environment().items() if k == "PYTHONPATH"}
    home = hello_machine.home
    bare = subprocess.run(
        [sys.executable, "-m", "hookline", "--home", str(home), "run", "hi", "--model", model],
        env=inherited,
        cwd=hello_machine.workspace,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (bare.returncode, bare.stdout) == (0, "hello\n"), bare.stderr
    assert (home / "hookline.db").exists()


@pytest.mark.slow
def test_home_option_needs_a_folder(machine: Machine) -> None:
    done = machine.run("run", "hello", "--home")
    assert (done.code, done.out, done.err) == (2, "", "hookline: --home needs a folder\n")
