"""Third-party clients, each in its own environment; skipped where one cannot be installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from .conftest import Served

pytestmark = pytest.mark.slow
INSTALL_SECONDS = 900
RUN_SECONDS = 180
SDK = ("ai@7", "@ai-sdk/openai-compatible@3")
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the programs are installed; removed at the end, because they are large."""
    made = tmp_path_factory.mktemp("clients")
    yield made
    shutil.rmtree(made, ignore_errors=True)


def output_of(command: list[str], cwd: Path, env: Mapping[str, str], seconds: float) -> str:
    """What a program prints. Fails with all of its output unless it ends with 0."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env={"PATH": os.environ["PATH"], "HOME": str(cwd), "LANG": "C.UTF-8", **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.stdout}\n{done.stderr}"
    return done.stdout


def python_program(folder: Path, dist: str) -> Path:
    """The folder of the programs of ``dist``, in a virtual environment of its own."""
    place = folder / dist
    try:
        env = dict(os.environ)
        env.pop("VIRTUAL_ENV", None)
        output_of([sys.executable, "-m", "venv", str(place)], folder, {}, INSTALL_SECONDS)
        pip = [str(place / "bin" / "pip"), "install", "--quiet", dist]
        output_of(pip, folder, env, INSTALL_SECONDS)
    except (AssertionError, OSError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"{dist} cannot be installed here: {str(error)[-300:]}")
    return place / "bin"


def sessions_of(served: Served) -> set[str]:
    """The ids of the newest sessions; there may be more than are listed."""
    return {one["id"] for one in json.loads(served.run("sessions", "list", "--json")[1])}


def test_llm_cli_works_as_client(served: Served, folder: Path) -> None:
    llm = str(python_program(folder, "llm") / "llm")
    home = folder / "llm-home"
    home.mkdir()
    models = [
        {"model_id": name, "model_name": name, "api_base": served.url, "api_key_name": "hookline"}
        for name in ("hookline", "hookline-light")
    ]
    (home / "extra-openai-models.yaml").write_text(json.dumps(models))
    (home / "keys.json").write_text(json.dumps({"hookline": served.key}))
    env = {"LLM_USER_PATH": str(home)}
    before = sessions_of(served)
    said = output_of([llm, "-m", "hookline", "say my first words"], folder, env, RUN_SECONDS)
    assert said == "my first words\n"
    said = output_of([llm, "-c", "list what you have"], folder, env, RUN_SECONDS)
    assert said == "Let me look.\n\nYou said: list what you have\n"
    said = output_of([llm, "-m", "hookline", "--no-stream", "say third"], folder, env, RUN_SECONDS)
    assert said == "third\n"
    said = output_of([llm, "-m", "hookline-light", "say light"], folder, env, RUN_SECONDS)
    assert said == "light\n"
    assert len(sessions_of(served) - before) == 2
    assert "my first words" in json.dumps(served.asked("list what you have"))


def test_aider_works_as_client(served: Served, folder: Path) -> None:
    aider = str(python_program(folder, "aider-chat") / "aider")
    project = folder / "project"
    project.mkdir()
    (project / "hello.py").write_text("print(1)\n")
    env = {"OPENAI_API_BASE": served.url, "OPENAI_API_KEY": served.key}
    command = [aider, "--model", "openai/hookline", "--weak-model", "openai/hookline-light"]
    command += ["--edit-format", "whole", "--no-git", "--yes-always", "--no-show-model-warnings"]
    command += ["--no-check-update", "--analytics-disable", "--no-show-release-notes"]
    command += ["--message", "edit the file", "hello.py"]
    said = output_of(command, project, env, RUN_SECONDS)
    assert "Applied edit to hello.py" in said
    assert (project / "hello.py").read_text() == "print(2)\n"


def test_ai_sdk_works_as_client(served: Served, folder: Path) -> None:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("node and npm are not installed, so the AI SDK is not tried")
    place = folder / "ai-sdk"
    place.mkdir()
    (place / "package.json").write_text('{"private": true, "type": "module"}')
    try:
        output_of([npm, "install", "--silent", *SDK], place, dict(os.environ), INSTALL_SECONDS)
    except (AssertionError, OSError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"the AI SDK cannot be installed here: {str(error)[-300:]}")
    shutil.copy(HERE / "ai_sdk.mjs", place)
    env = {"BASE_URL": served.url, "API_KEY": served.key}
    output = json.loads(output_of([node, "ai_sdk.mjs"], place, env, RUN_SECONDS))
    assert output["first"] == "from the ai sdk"
    assert output["text"] == "Let me look.\n\nYou said: list with the ai sdk"
    assert "→ list_dir" in output["beside"]
    assert output["tokens"] > 0
    assert len(set(output["sessions"])) == 1
