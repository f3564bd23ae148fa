"""``harness.cli``: plugin commands, in a group and alone, as the program runs them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any

import pytest
import typer
from hookline_hookspecs import CommandError, Host, NoConfig, Plugin, Refused, hookimpl
from hookline_hookspecs.cli import command_line

Make = Callable[..., Any]
WAYS = ("alone", "in group", "in group deep")


class Colour(StrEnum):
    """What to paint in."""

    RED = "red"
    BLUE = "blue"


class Notes(Plugin[NoConfig]):
    """The same commands alone, in a group, and in a group of a group."""

    ready = False

    @hookimpl
    def setup(self, host: Any) -> None:
        self.ready = True

    @hookimpl
    def register_cli(self, register: Any) -> None:
        deep = typer.Typer(help="Deeper.")
        group = typer.Typer(help="Commands in a group.")
        group.add_typer(deep, name="deep")
        for name, command in (("keep", self.keep), ("fail", self.fail), ("plain", self.plain)):
            register(f"alone {name}", command)
            group.command(name)(command)
            deep.command(name)(command)
        register("in group", group)
        register("alone paint", self.paint)

    async def keep(self, word: str, times: Annotated[int, typer.Option(min=1)] = 1) -> None:
        """Keep a word."""
        assert self.ready
        kept = [*await self.host.storage.kv.get("kept", []), *[word] * times]
        await self.host.storage.kv.set("kept", kept)
        print(",".join(kept))

    async def fail(self, how: str) -> int:
        """Fail in some way."""
        if how == "exit":
            raise typer.Exit(3)
        if how == "system":
            raise SystemExit(4)
        if how == "told":
            raise SystemExit("in words")
        if how == "refused":
            raise Refused("this is not for you")
        if how == "usage":
            raise typer.BadParameter("not like this")
        if how == "bug":
            raise ValueError("a bug")
        return 5

    def paint(self, colour: Colour) -> None:
        """Paint in one of several colours."""
        print(colour.value)

    def plain(self, what: str) -> None:
        """Do it without the plugin being set up."""
        if what == "bug":
            raise ValueError("a bug")
        print(f"{what} {sys.stdin.read()}".strip())


def test_value_outside_the_choices_gives_a_plain_error(harness: Make) -> None:
    h = harness(Notes)
    assert h.cli("alone paint red").stdout == "red\n"
    done = h.cli("alone paint green")
    assert done.exit_code == 2
    assert "Invalid value for 'COLOUR': 'green' is not one of 'red', 'blue'." in done.stderr


@pytest.mark.parametrize("way", WAYS)
def test_coroutine_command_runs_with_plugins_set_up(harness: Make, way: str) -> None:
    h = harness(Notes)
    assert h.cli(f"{way} keep one").stdout == "one\n"
    done = h.cli(f"{way} keep 'two three' --times 2")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "one,two three,two three\n", "")
    assert h.run(h.plugin(Notes).host.storage.kv.get("kept")) == ["one", *["two three"] * 2]


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("how", "code", "told"),
    [
        ("exit", 3, ""),
        ("system", 4, ""),
        ("returned", 5, ""),
        ("told", 1, "in words\n"),
        ("refused", 1, "hookline: plugin notes, `hookline {}`: this is not for you\n"),
        ("bug", 1, "hookline: plugin notes failed in `hookline {}`: ValueError: a bug; "),
        ("usage", 2, "not like this"),
    ],
)
def test_command_exit_codes(harness: Make, way: str, how: str, code: int, told: str) -> None:
    done = harness(Notes, strict=False).cli(f"{way} fail {how}")
    assert done.exit_code == code
    assert told.format(f"{way} fail") in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("way", WAYS)
def test_sync_command_reads_stdin(harness: Make, way: str) -> None:
    h = harness(Notes, strict=False)
    done = h.cli(f"{way} plain said", input="and read")
    assert (done.exit_code, done.stdout) == (0, "said and read\n")
    assert "failed in `hookline" in h.cli(f"{way} plain bug").stderr


def test_strict_mode_reraises_bugs_in_commands(harness: Make) -> None:
    with pytest.raises(ValueError, match="a bug"):
        harness(Notes).cli("alone plain bug")


def test_help_shows_docstrings_and_options(harness: Make) -> None:
    h = harness(Notes)
    assert "Commands in a group." in h.cli("in group --help").stdout
    told = h.cli("in group deep keep -h").stdout
    assert "Usage: hookline in group deep keep [OPTIONS] WORD" in told
    assert "Keep a word." in told
    assert "--times" in told
    assert "keep" in h.cli("alone --help").stdout


class Other(Plugin[NoConfig]):
    """Registers what another has, and more."""

    @hookimpl
    def register_cli(self, register: Any) -> None:
        for name in ("in group keep", "alone", "in group plain deeper", "in group more"):
            try:
                register(name, lambda: print("the other's"))
            except ValueError as refused:
                print(refused, file=sys.stderr)


def test_duplicate_command_name_is_refused_and_names_both_plugins(harness: Make) -> None:
    h = harness(Notes, Other)
    done = h.cli("in group keep mine")
    assert done.stdout == "mine\n"
    assert done.stderr.splitlines() == [
        "`hookline in group keep` belongs to notes already; rename one of them",
        "`hookline alone` belongs to notes already; rename one of them",
        "`hookline in group plain` is a command, not a group",
    ]
    assert h.cli("in group more").stdout == "the other's\n"


class Clumsy(Plugin[NoConfig]):
    """Collides and does not expect it; what follows is not registered."""

    @hookimpl
    def register_cli(self, register: Any) -> None:
        register("fine", lambda: print("fine"))
        register("alone keep", lambda: None)
        register("late", lambda: print("late"))


def test_refused_command_is_a_warning_and_earlier_commands_stay(harness: Make) -> None:
    done = harness(Notes, Clumsy, strict=False).cli("fine")
    assert (done.exit_code, done.stdout) == (0, "fine\n")
    assert done.stderr == (
        "hookline: warning: plugin clumsy: register_cli: `hookline alone keep` belongs to notes "
        "already; rename one of them\n"
    )


class Odd(Plugin[NoConfig]):
    """Has a parameter that nobody can give on a command line."""

    @hookimpl
    def register_cli(self, register: Any) -> None:
        def odd(thing: int | str) -> None: ...

        register("odd", odd)


def test_command_that_cannot_be_built_leaves_the_others(harness: Make) -> None:
    done = harness(Odd, Notes, strict=False).cli("alone keep one")
    assert (done.exit_code, done.stdout) == (0, "one\n")
    assert "warning: plugin odd: register_cli: " in done.stderr


def test_unknown_command_is_a_usage_error(harness: Make) -> None:
    done = harness(Notes).cli("in group nothing")
    assert done.exit_code == 2
    assert "No such command 'nothing'" in done.stderr


class Opener(Plugin[NoConfig]):
    """A plain command that checks something first and then needs the plugins set up."""

    ready = False

    @hookimpl
    def setup(self, host: Any) -> None:
        self.ready = True

    @hookimpl
    def register_cli(self, register: Any) -> None:
        register("open", self.open)

    def open(self, word: str) -> None:
        """Keep a word."""
        if word == "wrong":
            raise CommandError("this is no word")
        try:
            print(command_line().run(lambda plugin: plugin.keep(plugin.host, word)))
        except CommandError as error:
            print(f"refused: {error.text}")
            raise

    async def keep(self, host: Host, word: str) -> str:
        if word == "never":
            raise CommandError("no such word", 7)
        await host.storage.kv.set("word", word)
        return f"{self.ready} {await host.storage.kv.get('word')}"


def test_sync_command_can_open_the_runtime(harness: Make) -> None:
    h = harness(Opener)
    assert h.cli("open one").stdout == "True one\n"
    wrong, never = h.cli("open wrong"), h.cli("open never")
    assert (wrong.exit_code, wrong.stdout, wrong.stderr) == (2, "", "hookline: this is no word\n")
    assert (never.exit_code, never.stdout) == (7, "refused: no such word\n")
    assert never.stderr == "hookline: no such word\n"
