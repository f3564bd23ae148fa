"""Commands that packages add by entry points of the group ``hookline.commands``."""

from __future__ import annotations

import pytest
from support.machine import Machine
from support.site_packages import Site

PLUGIN = """
from hookline_hookspecs import NoConfig, Plugin, hookimpl

class One(Plugin[NoConfig]):
    ready = False

    @hookimpl
    def setup(self, host):
        self.ready = True
"""
COMMANDS = '''
"""Count what is stored.

Not shown in the list of commands.
"""
from pathlib import Path
import sys
import typer
from hookline_hookspecs.cli import command_line, with_plugin

Path(sys.argv[0]).parent  # the module is imported
print("imported", file=sys.stderr)
app = typer.Typer(no_args_is_help=True)

@app.command()
@with_plugin
async def add(plugin: "One", word: str) -> int:
    """Store a word."""
    words = [*await plugin.host.storage.kv.get("words", []), word]
    await plugin.host.storage.kv.set("words", words)
    print(len(words), plugin.ready)

@app.command()
@with_plugin
def early(plugin: "One") -> None:
    """Look at the plugin before setup."""
    print(plugin.ready, plugin.host.home == command_line().home)

@app.command()
def model() -> None:
    """Print the model that a setting chooses."""
    async def read(plugin):
        return plugin.host.config.model
    print(command_line().run(read, model="scripted/x.yaml"))
'''


def install(site: Site, name: str, *entries: str, commands: str = COMMANDS) -> None:
    """Install a package with a plugin NAME and commands, each ``WORDS = ATTRIBUTE``."""
    package = site.path / f"dist_{name}"
    package.mkdir()
    package.joinpath("__init__.py").write_text(PLUGIN, "utf-8")
    package.joinpath("commands.py").write_text(commands.lstrip(), "utf-8")
    lines = [entry.replace(" = ", f" = dist_{name}.commands:") for entry in entries]
    text = "\n".join(
        [f"[hookline.plugins]\n{name} = dist_{name}:One", "[hookline.commands]", *lines]
    )
    site.metadata(name, f"{text}\n".encode())


@pytest.mark.slow
def test_help_shows_first_docstring_line_without_importing(machine: Machine, site: Site) -> None:
    install(site, "count", "count = app")
    machine.config("plugins: {count: true}\n")
    helped = machine.run("--help")
    assert (helped.code, helped.err) == (0, "")
    assert "count " in helped.out
    assert "Count what is stored." in helped.out
    assert "Not shown" not in helped.out


@pytest.mark.long
def test_help_shows_command_module_in_namespace_package(machine: Machine, site: Site) -> None:
    package = site.path / "dist_count"
    package.joinpath("more").mkdir(parents=True)
    package.joinpath("__init__.py").write_text(PLUGIN, "utf-8")
    package.joinpath("more", "commands.py").write_text(COMMANDS.lstrip(), "utf-8")
    site.metadata(
        "count",
        b"[hookline.plugins]\ncount = dist_count:One\n"
        b"[hookline.commands]\ncount = dist_count.more.commands:app\n",
    )
    machine.config("plugins: {}\n")  # so that the package is not imported
    helped = machine.run("--help")
    assert (helped.code, helped.err) == (0, "")
    machine.config("plugins: {count: true}\n")
    assert "Count what is stored." in machine.run("--help").out


@pytest.mark.slow
def test_coroutine_command_has_store_and_plugin(machine: Machine, site: Site) -> None:
    install(site, "count", "count = app")
    machine.config("plugins: {count: true}\n")
    assert machine.run("count", "add", "one").out == "1 True\n"
    assert machine.run("count", "add", "two").out == "2 True\n"
    assert machine.run("count", "early").out == "False True\n"
    assert machine.run("count", "model").out == "scripted/x.yaml\n"
    helped = machine.run("count", "add", "--help").out
    assert "Usage: hookline count add [OPTIONS] {word}" in helped
    assert "Store a word." in helped


@pytest.mark.slow
def test_command_of_a_disabled_plugin_says_so(machine: Machine, site: Site) -> None:
    install(site, "count", "count = app")
    machine.config("plugins: {}\n")
    done = machine.run("count", "add", "one")
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "hookline: `hookline count` belongs to plugin count, which is off. "
        "Run `hookline plugins enable count`.\n"
    )
    assert "Count what is stored." not in machine.run("--help").out


@pytest.mark.slow
def test_command_can_work_while_its_plugin_is_off(machine: Machine, site: Site) -> None:
    install(site, "count", "count = app", commands=f"{COMMANDS}\nWORKS_WHEN_OFF = True\n")
    machine.config("plugins: {}\n")
    assert machine.run("count", "add", "one").out == "1 True\n"
    assert "Count what is stored." in machine.run("--help").out
    machine.config("plugins: {count: false}\n")
    assert machine.run("count", "early").out == "False True\n"
    refused = machine.run("count", "add", "two")
    assert (refused.code, refused.out) == (1, "")
    assert "plugin count is not on: config.yaml switches it off" in refused.err


@pytest.mark.slow
def test_packages_can_share_a_group(machine: Machine, site: Site) -> None:
    install(site, "count", "words count = early")
    install(site, "print", "words print = early", "doctor deep = early")
    machine.config("plugins: {count: true, print: true}\n")
    listed = machine.run("words", "--help").out
    assert "  count " in listed
    assert "  print " in listed
    assert machine.run("words", "print").out == "False True\n"
    wrong = machine.run("words", "prin")
    assert wrong.code == 2
    assert "No such command 'prin'. Did you mean 'print'?" in wrong.err
    assert "--offline" in machine.run("doctor", "--help").out  # a command cannot become a group


@pytest.mark.slow
def test_duplicate_command_names_both_packages(machine: Machine, site: Site) -> None:
    install(site, "count", "count = app")
    install(site, "other", "count = early")
    machine.config("plugins: {count: true, other: true}\n")
    done = machine.run("count", "early")
    assert (done.code, done.out) == (0, "False True\n")
    assert (
        "hookline: warning: dist-count and dist-other both bring `hookline count`; "
        "that of dist-count is used" in done.err
    )
    sentence = "its command `hookline count` is not used: plugin count has one of this name"
    assert sentence in machine.run("plugins", "list").out
    assert f"plugin other: {sentence}" in machine.run("doctor", "--offline").out
    machine.config("plugins: {other: true}\n")
    alone = machine.run("count")
    assert (alone.out, "warning" in alone.err) == ("False True\n", False)


@pytest.mark.slow
def test_broken_module_fails_only_its_own_command(machine: Machine, site: Site) -> None:
    machine.env["HOOKLINE_STRICT"] = "0"
    install(site, "count", "count = app", commands='"""Count."""\nimport nothing_of_this_name\n')
    machine.config("plugins: {count: true}\n")
    assert "Count." in machine.run("--help").out
    assert machine.run("config", "path").code == 0
    done = machine.run("count")
    assert done.code == 1
    assert "ModuleNotFoundError: No module named 'nothing_of_this_name'" in done.err
    assert "Traceback" not in done.err
