"""Several plugins of one kind (``KIND:NAME`` in config), with a third-party plugin."""

from __future__ import annotations

import json
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.machine import PATIENCE, Finished, Machine
from support.site_packages import Site

PIGEON = '''
"""A channel by carrier pigeon: the letters of a file come in, the answers go into another."""

import asyncio
from pathlib import Path

from hookline_hookspecs import Inbound, Plugin, Tool, hookimpl
from pydantic import BaseModel


class Settings(BaseModel):
    mail: Path


class Loft:
    edits = False
    network = True

    def __init__(self, plugin):
        self.name, self.host, self.mail = plugin.host.plugin, plugin.host, plugin.config.mail

    async def start(self):
        letters = self.mail.read_text().splitlines() if self.mail.exists() else []
        for number, line in enumerate(letters):
            user, text = line.split(" ", 1)
            await self.host.receive(Inbound(self.name, user, user, str(number), text, private=True))
            await self.host.storage.execute("count_letter", who=user)

    async def wait(self):
        await asyncio.Event().wait()

    async def stop(self):
        pass

    async def send(self, reply):
        with self.mail.with_suffix(".out").open("a") as out:
            out.write(f"{reply.session.chat_id}: {reply.text}\\\\n")
        return "1"


class One(Plugin[Settings]):
    multiple = True

    @hookimpl
    def register_channels(self, register):
        register(Loft(self))

    @hookimpl
    def register_tools(self, register):
        own = self.host.plugin.replace(":", "_")
        register(Tool(f"{own}_coo", "Coo.", lambda: "coo"))

    @hookimpl
    async def setup(self, host):
        await host.storage.kv.set("who", host.plugin)
        (host.storage.dir / "nest").write_text(host.plugin)
'''.replace("\\\\", "\\")
SQL = {
    "migrations/0001_letters.sql": (
        "CREATE TABLE pigeon_letters (who TEXT PRIMARY KEY, letters INTEGER NOT NULL);\n"
        "CREATE INDEX pigeon_by_letters ON pigeon_letters (letters);\n"
    ),
    "sql/letters.sql": (
        "-- name: count_letter!\n"
        "INSERT INTO pigeon_letters (who, letters) VALUES (:who, 1)\n"
        "ON CONFLICT (who) DO UPDATE SET letters = pigeon_letters.letters + 1;\n"
    ),
}


@pytest.fixture
def pigeons(hello_machine: Machine, tmp_path: Path) -> Machine:
    """A machine with the dist, whose module is a package with SQL of its own."""
    site = Site(tmp_path / "site")
    site.metadata("pigeon", b"[hookline.plugins]\npigeon = acme_pigeon:One\n")
    files = {"__init__.py": PIGEON, **SQL}
    for name, text in files.items():
        file = site.path / "acme_pigeon" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    inherited = hello_machine.environment().get("PYTHONPATH")
    hello_machine.env["PYTHONPATH"] = f"{inherited}:{site.path}" if inherited else str(site.path)
    return hello_machine


def write_mail(machine: Machine, name: str, *lines: str) -> str:
    path = machine.home.parent / f"{name}.mail"
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return str(path)


def rows(machine: Machine) -> dict[str, dict[str, Any]]:
    listed = machine.run("plugins", "list", "--json")
    assert listed.code == 0, listed.err
    return {row["name"]: row for row in listed.json}


def read_answers(machine: Machine, name: str, count: int) -> list[str]:
    """The answers sent by this channel, once there are this many."""
    path, until = machine.home.parent / f"{name}.out", time.monotonic() + PATIENCE
    while not path.exists() or len(path.read_text().splitlines()) < count:
        assert time.monotonic() < until, f"no {count} answers by {name}"
        time.sleep(0.05)
    return sorted(path.read_text().splitlines())


def is_up(machine: Machine, since: float) -> bool:
    """Whether a gateway started at that time reports that it is running."""
    state = machine.home / "gateway.state"
    told = json.loads(state.read_text()) if state.exists() else {}
    return told.get("state") == "ready" and told["since"] >= since


def gateway(machine: Machine, **expected: int) -> Finished:
    """Run a gateway until these channels have sent this many answers."""
    began = time.time()
    process = machine.start("gateway")
    try:
        until = time.monotonic() + PATIENCE
        while not is_up(machine, began):  # before, the signal would only kill it
            assert time.monotonic() < until, "the gateway did not start"
            time.sleep(0.05)
        for name, count in expected.items():
            read_answers(machine, name, count)
    finally:
        process.send_signal(signal.SIGTERM)
        done = machine.wait(process)
    assert done.code == 0, done.err
    return done


@pytest.mark.slow
def test_channels_of_one_kind_keep_their_data_apart(pigeons: Machine) -> None:
    home, work = (
        write_mail(pigeons, "home", "ann hi", "ann hi"),
        write_mail(pigeons, "work", "ann hi"),
    )
    pigeons.config(
        "plugins:\n"
        f"  pigeon: {{mail: {home}}}\n"
        f'  "pigeon:work": {{mail: {work}}}\n'
        '  access: {allow: ["pigeon:*", "pigeon:work:*"]}\n'
    )
    gateway(pigeons, home=2, work=1)

    assert read_answers(pigeons, "home", 2) == ["ann: hello", "ann: hello"]
    assert read_answers(pigeons, "work", 1) == ["ann: hello"]
    sessions = pigeons.run("sessions", "list", "--json").json
    assert {one["channel"] for one in sessions} == {"pigeon", "pigeon:work"}
    assert (pigeons.home / "chats" / "pigeon" / "ann").is_dir()
    assert (pigeons.home / "chats" / "pigeon%3Awork" / "ann").is_dir()
    folders = pigeons.home / "plugins"
    assert (folders / "pigeon" / "nest").read_text() == "pigeon"
    assert (folders / "pigeon%3Awork" / "nest").read_text() == "pigeon:work"
    with closing(sqlite3.connect(pigeons.home / "hookline.db")) as db:
        tables = ("pigeon_letters", "pigeon__work_letters")
        found = [db.execute(f"SELECT who, letters FROM {name}").fetchall() for name in tables]
    assert found == [[("ann", 2)], [("ann", 1)]]

    info = pigeons.run("plugins", "info", "pigeon:work", "--json").json
    assert (info["dist"], info["settings"]["mail"]) == ("dist-pigeon", work)
    assert info["storage"]["tables"] == {"pigeon__work_letters": 1}
    purged = pigeons.run("plugins", "purge", "pigeon:work", "--yes")
    assert purged.code == 0, purged.err
    left = pigeons.run("plugins", "info", "pigeon", "--json").json["storage"]["tables"]
    assert left == {"pigeon_letters": 1}


@pytest.mark.slow
def test_single_named_channel_works(pigeons: Machine) -> None:
    pigeons.config(f'plugins:\n  "pigeon:work": {{mail: {write_mail(pigeons, "work")}}}\n')
    found = rows(pigeons)
    assert (found["pigeon:work"]["state"], found["pigeon:work"]["version"]) == ("on", "1.0")
    assert found["pigeon"]["state"] == "off"


@pytest.mark.slow
def test_plugins_list_reports_invalid_names_and_kinds(pigeons: Machine) -> None:
    pigeons.config(
        "plugins:\n"
        '  "pigeon:": true\n'
        '  ":work": true\n'
        '  "pigeon:Work": true\n'
        '  "pigeon:a:b": true\n'
        '  "nosuch:work": true\n'
        '  "files:work": true\n'
        '  "pigeon:off": false\n'
    )
    found = rows(pigeons)
    for name in ("pigeon:", ":work", "pigeon:Work", "pigeon:a:b"):
        assert found[name]["state"] == "failed"
        assert found[name]["reason"].startswith("not a plugin name; write KIND or KIND:NAME")
    assert found["nosuch:work"]["state"] == "missing"
    assert found["files:work"]["reason"] == (
        "files can be used only once, under its own name; remove files:work"
    )
    assert (found["pigeon:off"]["state"], found["files"]["state"]) == ("off", "on")
    assert pigeons.run("run", "hi").out == "hello\n"


@pytest.mark.slow
def test_named_channels_are_enabled_and_disabled_by_name(pigeons: Machine) -> None:
    path = pigeons.config("# mine\nplugins:\n  titles: false\n")
    mail = write_mail(pigeons, "work")

    on = pigeons.run("plugins", "enable", "pigeon:work")
    assert (on.code, on.out) == (0, f"pigeon:work is on in {path}\n")
    done = pigeons.run("config", "set", "plugins.pigeon:work.mail", mail)
    assert done.code == 0, done.err
    assert pigeons.run("config", "get", "plugins.pigeon:work.mail").out == f"{mail}\n"
    assert rows(pigeons)["pigeon:work"]["state"] == "on"
    assert pigeons.run("config", "check").code == 0

    off = pigeons.run("plugins", "disable", "pigeon:work")
    assert (off.code, off.out) == (0, f"pigeon:work is off in {path}\n")
    assert rows(pigeons)["pigeon:work"]["state"] == "off"
    assert path.read_text().startswith("# mine\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verb", "name", "said"),
    [
        ("enable", "pigeon:", "pigeon: is not a valid name. Write KIND:NAME, such as pigeon:work"),
        ("enable", "files:work", "files can be used only once, under its own name."),
        ("enable", "nosuch:work", "unknown plugin nosuch:work."),
        ("disable", "pigeon:wrok", "unknown plugin pigeon:wrok."),
    ],
)
def test_enabling_an_invalid_name_gives_an_error_sentence(
    pigeons: Machine, verb: str, name: str, said: str
) -> None:
    done = pigeons.run("plugins", verb, name)
    assert done.code == 2
    assert said in done.err
    assert not (pigeons.home / "config.yaml").exists()


@pytest.mark.slow
def test_environment_variable_sets_a_named_plugin(pigeons: Machine) -> None:
    mail = write_mail(pigeons, "other")
    pigeons.config('plugins:\n  "pigeon:work": {mail: /nowhere}\n')
    pigeons.env["HOOKLINE_PLUGINS__PIGEON__WORK__MAIL"] = mail
    assert pigeons.run("config", "get", "plugins.pigeon:work.mail").out == f"{mail}\n"


@pytest.mark.slow
def test_person_is_admitted_on_every_channel_of_a_kind_or_on_one(pigeons: Machine) -> None:
    home = write_mail(pigeons, "home", "ann hi", "bob hi", "eve hi")
    work = write_mail(pigeons, "work", "ann hi", "bob hi", "eve hi")
    pigeons.config(
        "plugins:\n"
        f"  pigeon: {{mail: {home}}}\n"
        f'  "pigeon:work": {{mail: {work}}}\n'
        '  access: {admins: ["pigeon:ann"], allow: ["pigeon:work:bob"]}\n'
    )
    gateway(pigeons, home=3, work=3)

    def admitted_at(name: str) -> list[str]:
        return [one for one in read_answers(pigeons, name, 3) if one.endswith(": hello")]

    assert admitted_at("home") == ["ann: hello"]
    assert admitted_at("work") == ["ann: hello", "bob: hello"]


@pytest.mark.slow
def test_pairing_applies_to_every_channel_of_the_kind(pigeons: Machine) -> None:
    write_mail(pigeons, "home", "ann hi")
    mail = write_mail(pigeons, "work", "eve hi")
    pigeons.config(
        "plugins:\n"
        f"  pigeon: {{mail: {Path(mail).with_name('home.mail')}}}\n"
        f'  "pigeon:work": {{mail: {mail}}}\n'
        '  access: {admins: ["pigeon:ann"]}\n'
    )
    gateway(pigeons, work=1)
    (waiting,) = [row for row in pigeons.run("pairing", "list", "--json").json if row["code"]]
    assert waiting["person"] == "pigeon:eve"
    approved = pigeons.run("pairing", "approve", waiting["code"])
    assert approved.out == "pigeon:eve may write now. They have to send their message again.\n"

    write_mail(pigeons, "home", "ann hi", "eve hi")
    write_mail(pigeons, "work", "eve hi", "eve again")
    gateway(pigeons, home=2, work=2)
    assert "eve: hello" in read_answers(pigeons, "home", 2)
    assert "eve: hello" in read_answers(pigeons, "work", 2)

    assert pigeons.run("pairing", "block", "pigeon:eve").code == 0
    write_mail(pigeons, "home", "ann hi", "eve hi", "eve more", "ann more")
    write_mail(pigeons, "work", "eve hi", "eve again", "eve more", "ann hi")
    gateway(pigeons, home=4, work=4)
    for name in ("home", "work"):
        assert read_answers(pigeons, name, 4).count("eve: hello") == 1
