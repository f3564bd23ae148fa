"""What a guard would have judged is refused while its bundle is not the one that was agreed to."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from hookline.testing import Harness, calls

from .conftest import GUARD, Make, claude_plugin, write, write_json
from .test_hooks import Tools

WEAKER = "#!/bin/sh\nexit 0\n"


def both_calls() -> list[object]:
    return [[calls("bash", command="ls"), calls("write_file", path="a", content="b")], "done"]


def results(h: Harness, session: str) -> dict[str, str]:
    done = h.send("go", session=session).tool_calls
    return {result.call.name: result.text for result in done}


def start(make: Make, demo: Path) -> Harness:
    h = make(Tools, model=[*both_calls(), *both_calls()])
    assert h.cli(f"bundles add {demo} --yes").exit_code == 0
    return h


def test_changed_guard_of_a_bundle_refuses_its_calls_alone(make: Make, demo: Path) -> None:
    h = start(make, demo)
    write(h.home / "bundles/demo/guard.sh", WEAKER, executable=True)
    found = results(h, "later")
    assert found["bash"].startswith("Denied: demo: ")
    assert "`hookline bundles info demo`" in found["bash"]
    assert found["write_file"] == "written"
    assert "changed: guard.sh" in h.cli("bundles info demo").stdout
    assert any(
        "what its guards would check is refused" in n.text for n in h.send("x", session="z").notices
    )


@pytest.mark.parametrize("command", ["bundles update demo --yes", "bundles remove demo --yes"])
def test_one_command_ends_the_refusals_of_a_session(make: Make, demo: Path, command: str) -> None:
    h = start(make, demo)
    write(h.home / "bundles/demo/guard.sh", WEAKER, executable=True)
    assert results(h, "later")["bash"].startswith("Denied: demo: ")
    assert h.cli(command).exit_code == 0
    assert results(h, "later")["bash"] == "ran"


def test_bundle_whose_folder_is_gone_refuses(make: Make, demo: Path) -> None:
    h = start(make, demo)
    shutil.rmtree(h.home / "bundles/demo")
    text = results(h, "later")["bash"]
    assert text.startswith("Denied: demo: ")
    assert "`hookline bundles remove demo`" in text


def test_bundle_that_a_catalog_removed_refuses(make: Make, demo: Path, tmp_path: Path) -> None:
    h = start(make, demo)
    (row,) = json.loads(h.cli("bundles list --json").stdout)
    removed = [{"sha256": row["sha256"], "reason": "it was stolen"}]
    catalog = write_json(tmp_path / "catalog.json", {"name": "acme", "removed": removed})
    assert h.cli(f"bundles catalog add {catalog}").exit_code == 0
    text = results(h, "later")["bash"]
    assert text.startswith("Denied: demo: ")
    assert "it was stolen" in text
    h.cli("bundles remove demo --yes")
    assert results(h, "later")["bash"] == "ran"


def test_bundle_that_config_has_off_refuses_nothing(make: Make, demo: Path) -> None:
    first = start(make, demo)
    write(first.home / "bundles/demo/guard.sh", WEAKER, executable=True)
    config = {"bundles": {"off": ["demo"]}}
    h = make(Tools, home=first.home, model=both_calls(), config=config)
    assert results(h, "later")["bash"] == "ran"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    folder = tmp_path / "clone"
    hook = {"type": "command", "command": '"$CLAUDE_PROJECT_DIR"/guard.sh'}
    group = {"matcher": "Bash", "hooks": [hook]}
    write_json(folder / ".claude/settings.json", {"hooks": {"PreToolUse": [group]}})
    write(folder / "guard.sh", GUARD.format(word="push"), executable=True)
    return folder


def in_clone(make: Make, clone: Path) -> Harness:
    h = make(Tools, model=[*both_calls(), *both_calls()], workspace=clone)
    assert h.cli(f"trust {clone} --yes").exit_code == 0
    return h


@pytest.mark.parametrize("change", ["weaker script", "no hooks", "no folder"])
def test_changed_guard_of_a_trusted_folder_refuses(make: Make, clone: Path, change: str) -> None:
    h = in_clone(make, clone)
    if change == "weaker script":
        write(clone / "guard.sh", WEAKER, executable=True)
    elif change == "no hooks":
        write_json(clone / ".claude/settings.json", {})
    else:
        shutil.rmtree(clone / ".claude")
    text = results(h, "later")["bash"]
    assert text.startswith("Denied: claude-project: ")
    assert f"`hookline trust {clone}`" in text
    shown = h.cli(f"trust {clone} --yes").stdout
    assert "since you trusted it:" in shown
    assert "guard.sh" in shown
    assert results(h, "later")["bash"] == "ran"


def test_folder_whose_trust_was_revoked_refuses_nothing(make: Make, clone: Path) -> None:
    h = in_clone(make, clone)
    write(clone / "guard.sh", WEAKER, executable=True)
    h.cli(f"trust {clone} --revoke")
    assert results(h, "later")["bash"] == "ran"


def test_guard_of_messages_refuses_them(make: Make, tmp_path: Path) -> None:
    hook = {"command": "${CLAUDE_PLUGIN_ROOT}/guard.sh"}
    plugin = claude_plugin(tmp_path / "demo", UserPromptSubmit=[hook])
    write(plugin / "guard.sh", GUARD.format(word="secret"), executable=True)
    h = make(Tools, model=["answer"])
    h.cli(f"bundles add {plugin} --yes")
    write(h.home / "bundles/demo/guard.sh", WEAKER, executable=True)
    assert "guard.sh has changed" in h.send("hello", session="later").text
    assert "hookline bundles info demo" in h.send("hello", session="later").text
    h.cli("bundles remove demo --yes")
    assert h.send("hello", session="later").text == "answer"


def test_damaged_list_of_bundles_refuses_everything(make: Make, demo: Path) -> None:
    h = start(make, demo)
    lock = h.home / "bundles/.lock.json"
    lock.write_text("{", "utf-8")
    text = h.send("hello", session="later").text
    assert str(lock) in text
    assert "Move it away" in text
    assert h.cli(f"bundles add {demo} --yes").exit_code != 0
    assert not h.check("bundles").ok
    lock.rename(lock.with_suffix(".old"))
    assert results(h, "later")["bash"] == "ran"


def test_damaged_list_of_removed_bundles_refuses(make: Make, demo: Path) -> None:
    first = start(make, demo)
    write(first.home / "bundles/.removed.json", "{")
    h = make(Tools, home=first.home, model=both_calls())
    text = results(h, "later")["bash"]
    assert text.startswith("Denied: demo: ")
    assert ".removed.json" in text


def test_script_of_a_config_hook_stays_pinned_while_a_bundle_refuses(
    make: Make, demo: Path, tmp_path: Path
) -> None:
    workspace = tmp_path / "project"
    script = write(workspace / "check.sh", "#!/bin/sh\nexit 2\n", executable=True)
    hooks = {"pre_tool": [{"match": "write_file", "run": "./check.sh"}]}
    model = [*both_calls(), *both_calls()]
    h = make(Tools, model=model, workspace=workspace, config={"bundles": {"hooks": hooks}})
    h.cli(f"bundles add {demo} --yes")
    assert results(h, "one")["write_file"].startswith("Denied: config.yaml")
    write(h.home / "bundles/demo/guard.sh", WEAKER, executable=True)
    write(script, WEAKER)
    found = results(h, "one")
    assert found["bash"].startswith("Denied: demo: ")
    assert "check.sh has changed" in found["write_file"]
