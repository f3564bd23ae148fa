"""A third-party plugin of twenty lines: installed, enabled, used, removed."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.machine import Machine
from support.model_servers import openai

TALLY = '''\
"""Counts words, and says so of every result."""

from dataclasses import replace

from hookline_hookspecs import Plugin, Section, command, hookimpl, tool


class Tally(Plugin):
    @tool(read_only=True)
    def count_words(self, text: str) -> str:
        """Count the words of a text."""
        return f"{len(text.split())} words"

    @command("/tally")
    def tally(self, ctx, args):
        """Count the words that follow."""
        return self.count_words(args)

    @hookimpl
    def post_tool(self, ctx, result):
        return replace(result, text=result.text + " (tallied)")

    @hookimpl
    def system_prompt(self, ctx, session):
        return Section("guidance", "Count before you speak.")

    @hookimpl
    def register_cli(self, register):
        register("tally", lambda: print("tallied from the command line"), help="Tally it.")
'''


def install(site: Path, name: str, source: str) -> None:
    """Make a wheel of one module and install it into ``site``, as a person would."""
    info = f"acme_{name}-1.2.dist-info"
    wheel = site.parent / f"acme_{name}-1.2-py3-none-any.whl"
    files = {
        f"acme_{name}.py": source,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: acme-{name}\nVersion: 1.2\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": (
            f"[hookline.plugins]\n{name} = acme_{name}:{name.capitalize()}\n"
        ),
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    options = ["--target", str(site), "--no-deps", "--no-index", str(wheel)]
    if uv := shutil.which("uv"):
        command = [uv, "pip", "install", "--no-cache", "--python", sys.executable, *options]
    elif find_spec("pip"):
        command = [sys.executable, "-m", "pip", "install", *options]
    else:
        pytest.skip("neither uv nor pip is here")
    subprocess.run(command, check=True, capture_output=True)


@pytest.fixture
def outside(machine: Machine) -> Path:
    """An empty folder for dists, on the machine's path."""
    site = machine.home.parent / "site"
    site.mkdir()
    inherited = machine.environment().get("PYTHONPATH")
    machine.env["PYTHONPATH"] = f"{inherited}:{site}" if inherited else str(site)
    return site


def states(machine: Machine) -> dict[str, str]:
    """Every plugin's state."""
    return {row["name"]: row["state"] for row in machine.run("plugins", "list", "--json").json}


@pytest.mark.slow
def test_third_party_plugin_works_when_named_and_is_gone_when_not(
    machine: Machine, outside: Path
) -> None:
    machine.config("plugins:\n  tally: true\n")
    assert states(machine)["tally"] == "missing"
    install(outside, "tally", TALLY)
    rows = machine.run("plugins", "list", "--json").json
    (row,) = [row for row in rows if row["name"] == "tally"]
    assert row == {
        "name": "tally",
        "dist": "acme-tally",
        "version": "1.2",
        "kind": "third-party",
        "state": "on",
        "reason": "",
        "hooks": ["register_cli", "system_prompt", "post_tool"],
    }
    wire = openai(
        [
            [("count_words", {"text": "one two three"})],
            "Three.",
            "I see.",
            [("count_words", {"text": "four"})],
            "Gone.",
        ]
    )
    with wire.server:
        on = machine.run("run", "count", "--session", "old", env=wire.env)
        assert (on.code, on.out) == (0, "Three.\n"), on.err
        assert wire.tool_results() == ["3 words (tallied)"]
        assert "Count before you speak." in wire.messages_as_sent(0)
        assert machine.run("tally").out == "tallied from the command line\n"
        assert machine.run("run", "/tally a b", env=wire.env).out == "2 words\n"
        assert "Tally it." in machine.run("--help").out

        machine.config("trace: false\n")
        fresh = machine.run("run", "count", "--session", "new", env=wire.env)
        assert fresh.code == 0
        traces = ("tally", "count_words", "Count before you speak", "tallied")
        raw = wire.server.requests[2].raw.decode()
        assert [trace for trace in traces if trace in raw] == []

        old = machine.run("run", "count again", "--session", "old", env=wire.env)
        assert (old.code, old.out) == (0, "Gone.\n"), old.err
        assert wire.tool_results()[-1].startswith("Error: tool count_words is no longer available")
    assert wire.never_refused()
    assert wire.bodies[3]["tools"] == wire.bodies[0]["tools"]
    assert states(machine)["tally"] == "off"
    hooks = machine.run("hooks", "--json").json
    assert all("tally" not in hook["impls"] for hook in hooks)
    assert machine.run("tally").code == 2


BROKEN = {
    "import": "raise RuntimeError('the moon is wrong')\n",
    "setup": TALLY.replace(
        "    @hookimpl\n    def post_tool",
        "    @hookimpl\n    def setup(self, host):\n        raise RuntimeError('the moon is wrong')"
        "\n\n    @hookimpl\n    def post_tool",
    ),
    "hook": TALLY.replace("def post_tool", "def post_tol"),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", BROKEN)
def test_broken_third_party_plugin_is_reported_and_stops_nothing(
    hello_machine: Machine, outside: Path, fault: str
) -> None:
    install(outside, "tally", BROKEN[fault])
    hello_machine.config("plugins:\n  tally: true\n")
    done = hello_machine.run("run", "hello")
    assert (done.code, done.out) == (0, "hello\n"), done.err
    assert "Traceback" not in done.err
    (row,) = [
        r for r in hello_machine.run("plugins", "list", "--json").json if r["name"] == "tally"
    ]
    assert row["state"] == "failed"
    assert ("post_tool" if fault == "hook" else "the moon is wrong") in row["reason"]


@pytest.mark.slow
def test_failed_setup_leaves_nothing_behind(machine: Machine, outside: Path) -> None:
    install(outside, "tally", BROKEN["setup"])
    machine.config("plugins:\n  tally: true\n")
    prompt = machine.run("prompt", "--json").json
    assert "count_words" not in [tool["name"] for tool in prompt["tools"]]
    assert "Count before you speak" not in prompt["system"]
    doctor = machine.run("doctor", "--json")
    assert doctor.code == 1
    assert any(not r["ok"] and "tally" in r["detail"] and r["fix"] for r in doctor.json)


@pytest.mark.slow
def test_strict_mode_raises_third_party_plugin_errors(
    hello_machine: Machine, outside: Path
) -> None:
    install(outside, "tally", BROKEN["setup"])
    hello_machine.config("plugins: {tally: true, terminal: false, demo: false}\n")
    done = hello_machine.run("run", "hello", env={"HOOKLINE_STRICT": "1"})
    assert done.code not in (0, 2)
    assert "the moon is wrong" in done.err
    assert "hello" not in done.out


@pytest.mark.slow
def test_third_party_name_clash_is_refused(hello_machine: Machine, outside: Path) -> None:
    install(outside, "tally", TALLY)
    info = outside / "acme_tally-1.2.dist-info"
    twin = outside / "evil_tally-6.6.dist-info"
    shutil.copytree(info, twin)
    (twin / "METADATA").write_text("Metadata-Version: 2.1\nName: evil-tally\nVersion: 6.6\n")
    (twin / "entry_points.txt").write_text("[hookline.plugins]\ntally = acme_tally:Other\n")
    hello_machine.config("plugins:\n  tally: true\n")
    (row,) = [
        r for r in hello_machine.run("plugins", "list", "--json").json if r["name"] == "tally"
    ]
    assert row["state"] == "failed"
    assert "acme-tally" in row["reason"]
    assert "evil-tally" in row["reason"]


@pytest.mark.slow
def test_third_party_plugin_not_named_is_never_imported(
    hello_machine: Machine, outside: Path
) -> None:
    install(outside, "tally", "from pathlib import Path\nPath('imported').touch()\n" + TALLY)
    assert hello_machine.run("run", "hello").code == 0
    assert hello_machine.run("--help").code == 0
    rows = {row["name"]: row for row in hello_machine.run("plugins", "list", "--json").json}
    assert (rows["tally"]["state"], rows["tally"]["hooks"]) == ("off", [])
    assert not (hello_machine.workspace / "imported").exists()
    hello_machine.config("plugins: {tally: true}\n")
    assert hello_machine.run("run", "hello").code == 0
    assert (hello_machine.workspace / "imported").exists()


LOUD = '''\
"""Prints wherever it can, and adds a command to another plugin's group."""

from pathlib import Path

from hookline_hookspecs import Plugin, hookimpl

Path("imported").touch()
print("imported")


class Loud(Plugin):
    @hookimpl
    def setup(self, host):
        print("set up")

    @hookimpl
    def start_of_turn(self, ctx, turn):
        print("a turn")

    @hookimpl
    def teardown(self, host):
        print("torn down")

    @hookimpl
    def register_cli(self, register):
        register("memory praise", lambda: print("praised"), help="Praise it.")
'''


@pytest.mark.slow
def test_plugin_print_goes_to_stderr(outside: Path, hello_machine: Machine) -> None:
    install(outside, "loud", LOUD)
    hello_machine.config("plugins: {loud: true}\n")
    done = hello_machine.run("run", "hello")
    assert (done.code, done.out) == (0, "hello\n"), done.err
    for word in ("imported", "set up", "a turn", "torn down"):
        assert word in done.err


@pytest.mark.slow
def test_core_command_does_not_import_third_party_plugins(
    outside: Path, hello_machine: Machine
) -> None:
    install(outside, "loud", LOUD)
    hello_machine.config("plugins: {loud: true}\n")
    assert hello_machine.run("health").code == 1
    assert not (hello_machine.workspace / "imported").exists()
    assert hello_machine.run("memory", "praise").out.endswith("praised\n")
