"""The files of a chat and the folder it works in, with a real gateway."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .browser import Gateway, Person, new, text_of

SCRIPT = [
    {
        "when": "write it",
        "text": "I write.",
        "tools": [
            {"name": "write_file", "arguments": {"path": "report.md", "content": "# Report\n"}},
            {"name": "write_file", "arguments": {"path": "notes.txt", "content": "new\n"}},
        ],
        "repeat": True,
    },
    {
        "when": "where are you",
        "text": "Here:",
        "tools": [{"name": "bash", "arguments": {"command": "pwd"}}],
        "repeat": True,
    },
    {"when": "The workspace is now", "text": "moved", "repeat": True},
    {"when": ".", "text": "answered", "repeat": True},
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "notes.txt").write_text("old\n")
    (folder / "inner").mkdir()
    (folder / "inner" / "data.csv").write_text("a,b\n1,2\n")
    for codec in ("utf-16", "cp1252"):
        (folder / f"{codec}.csv").write_text("Größe;Stück\nzwölf;fünf\n", codec)
    (folder / ".env").write_text("KEY=secret")
    (folder / "page.html").write_text("<script>parent.x=1</script>")
    (folder / "away").symlink_to("/etc")
    for name in ("part2.txt", "part10.txt"):
        (folder / name).touch()
    return folder


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory, project: Path) -> Iterator[Gateway]:
    made = Gateway(tmp_path_factory.mktemp("workspace"))
    made.configure(SCRIPT, files=True, checkpoints=True)
    config = made.home / "config.yaml"
    settings = json.loads(config.read_text())
    settings["paths"] = {"allowed_roots": [str(project)]}
    config.write_text(json.dumps(settings))
    made.start()
    yield made
    made.close()


async def _in_project(owner: Person, project: Path) -> str:
    """A chat of the owner that works in the project."""
    session = new()
    await owner.ask("POST", f"/sessions/{session}/settings", 202, json={"folder": str(project)})
    await owner.say(session, "hello")
    await owner.settled(session)
    return session


@pytest.mark.long
def test_operator_chooses_the_folder_of_a_chat(play: Any, project: Path) -> None:
    async def story(owner: Person, mia: Person) -> None:
        offered = (await owner.get("/settings"))["folder"]
        assert str(project) in offered["choices"]
        session = await _in_project(owner, project)
        await owner.say(session, "where are you")
        found = await owner.settled(session, 2)
        assert f"{project}" in str(found["messages"])
        other = new()
        await owner.say(other, "hello")
        await owner.settled(other)
        chosen = {"folder": str(project)}
        await owner.ask("POST", f"/sessions/{other}/settings", 202, json=chosen)
        await owner.say(other, "hello again")
        found = await owner.settled(other, 2)
        assert text_of(found["messages"][-1]) == "moved"  # the model was told

        folder = (await owner.get(f"/sessions/{session}/settings"))["folder"]
        assert (folder["value"], folder["path"]) == (str(project), str(project))

        chosen = {"folder": str(project)}
        await mia.ask("POST", f"/sessions/{new()}/settings", 403, json=chosen)
        await mia.ask("POST", "/folders", 403, json={"path": str(project)})
        await mia.ask("POST", f"/sessions/{session}/settings", 404, json=chosen)
        assert (await mia.get("/settings"))["folder"]["choices"] == []

        await owner.ask("POST", f"/sessions/{session}/settings", 202, json={"folder": ""})
        await owner.say(session, "where are you")
        found = await owner.settled(session, 3)
        assert "chats/web/owner/work" in str(found["messages"][-3:])

    play(story, "owner", "mia")


@pytest.mark.long
def test_operator_names_any_folder_that_a_chat_may_work_in(
    play: Any, gateway: Gateway, project: Path
) -> None:
    theirs = gateway.folder / "shop"  # below the home folder of the account
    (theirs / "deep").mkdir(parents=True)
    (gateway.folder / "link").symlink_to(theirs)
    (gateway.folder / ".ssh").mkdir()

    async def story(owner: Person, mia: Person) -> None:
        for named in ("~/shop", " ~/link ", f"{theirs}/deep/.."):
            found = await owner.ask("POST", "/folders", json={"path": named})
            assert found == {"path": str(theirs)}
        assert str(theirs) in (await owner.get("/settings"))["folder"]["choices"]
        for named, why in (
            ("shop", "Write the whole path"),
            ("", "Write the whole path"),
            ("~nobody-has-this-name/x", "Write the whole path"),
            ("/srv/a\nb", "Write the whole path"),
            (5, "Write the whole path"),
            ("~/none", "does not exist"),
            (f"{project}/notes.txt", "is not a folder"),
            ("~", "too large"),
            ("/", "too large"),
            ("/root", "too large"),
            ("/etc", "belongs to the system"),
            ("/proc", "belongs to the system"),
            ("~/.ssh", "off limits"),
            (str(gateway.home), "Hookline's own files"),
        ):
            refused = await owner.ask("POST", "/folders", 400, json={"path": named})
            assert why in refused["error"]["message"], named
            again = {"folder": named} if named else {"folder": None}
            await owner.ask("POST", f"/sessions/{new()}/settings", 400, json=again)
        session = new()
        await owner.ask("POST", f"/sessions/{session}/settings", 202, json={"folder": "~/shop"})
        for turn in range(25):  # later folders push it off the list, not out of the chat
            (gateway.folder / f"f{turn}").mkdir()
            await owner.ask("POST", "/folders", json={"path": f"~/f{turn}"})
        await owner.say(session, "where are you")
        found = await owner.settled(session)
        assert str(theirs) in str(found["messages"])
        (theirs / "deep").rmdir()
        theirs.rmdir()
        await owner.say(session, "hello")
        found = await owner.until(session, lambda one: "cannot work in" in str(one))
        assert "does not exist" in str(found)

    play(story, "owner", "mia")


@pytest.mark.long
def test_files_are_listed_read_and_compared(play: Any, project: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("no git: checkpoints need it")

    async def story(owner: Person) -> None:
        session = await _in_project(owner, project)
        base = f"/sessions/{session}/workspace"
        await owner.say(session, "write it")
        await owner.settled(session, 2)
        listed = await owner.get(base)
        names = [one["name"] for one in listed["entries"]]
        assert names[0] == "inner"
        assert names.index("part2.txt") < names.index("part10.txt")
        assert {"notes.txt", "report.md", "page.html"} <= set(names)
        assert not {".env", "away"} & set(names)
        changes = await owner.get(f"{base}/changes")
        assert changes["files"] == {"notes.txt": "changed", "report.md": "added"}
        assert (await owner.get(f"{base}/before?path=notes.txt"))["text"] == "old\n"
        assert (await owner.get(f"{base}/text?path=notes.txt"))["text"] == "new\n"
        assert (await owner.get(f"{base}/text?path=inner/data.csv"))["as"] == "table"
        for codec in ("utf-16", "cp1252"):
            found = await owner.get(f"{base}/text?path={codec}.csv")
            assert found["text"] == "Größe;Stück\nzwölf;fünf\n"

    play(story)


@pytest.mark.long
def test_nothing_outside_the_folder_or_secret_is_shown(play: Any, project: Path) -> None:
    async def story(owner: Person, mia: Person) -> None:
        session = await _in_project(owner, project)
        base = f"/sessions/{session}/workspace"
        for kind in ("text", "download", "before"):
            for path in ("../x", "/etc/passwd", "~/x", "inner/../../x", ".git/config"):
                await owner.get(f"{base}/{kind}?path={path}", 404)
        await owner.get(f"{base}?path=away", 403)
        for kind in ("text", "download"):
            for path in (".env", "away/passwd"):
                await owner.get(f"{base}/{kind}?path={path}", 403)
        for rest in ("", "/text?path=notes.txt", "/changes", "/download?path=notes.txt"):
            await mia.get(base + rest, 404)
        answer = await owner.client.get(f"/api{base}/show?path=page.html")
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("sandbox; default-src 'none'")
        assert "script" not in policy
        answer = await owner.client.get(f"/api{base}/download?path=page.html")
        assert answer.headers["content-disposition"].startswith("attachment")
        assert answer.headers["content-type"] == "application/octet-stream"
        await owner.get(f"{base}/show?path=notes.txt", 404)

        own = new()
        await mia.say(own, "hello")
        await mia.settled(own)
        await mia.get(f"/sessions/{own}/workspace")

    play(story, "owner", "mia")


@pytest.mark.long
def test_upload_asks_before_it_replaces_a_file(play: Any, project: Path) -> None:
    async def story(owner: Person, mia: Person) -> None:
        session = await _in_project(owner, project)
        base = f"/sessions/{session}/workspace"
        await owner.ask("PUT", f"{base}?path=inner/up.txt", 201, content=b"one")
        assert (project / "inner" / "up.txt").read_bytes() == b"one"
        await owner.ask("PUT", f"{base}?path=inner/up.txt", 409, content=b"two")
        assert (project / "inner" / "up.txt").read_bytes() == b"one"
        await owner.ask("PUT", f"{base}?path=inner/up.txt&overwrite=1", 201, content=b"two")
        assert (project / "inner" / "up.txt").read_bytes() == b"two"
        await owner.ask("PUT", f"{base}?path=inner", 409, content=b"x")
        await owner.ask("PUT", f"{base}?path=../up.txt", 404, content=b"x")
        await owner.ask("PUT", f"{base}?path=away/up.txt", 403, content=b"x")
        await owner.ask("PUT", f"{base}?path=.git/hooks/pre-commit", 404, content=b"x")
        await owner.ask("PUT", f"{base}?path=.vscode/tasks.json", 403, content=b"x")
        await mia.ask("PUT", f"{base}?path=mine.txt", 404, content=b"x")

        own = new()
        await mia.say(own, "hello")
        await mia.settled(own)
        await mia.ask("PUT", f"/sessions/{own}/workspace?path=mine.txt", 201, content=b"x")
        refused = f"/sessions/{own}/workspace?path=theirs.txt"
        await owner.ask("PUT", refused, 403, content=b"x")

    play(story, "owner", "mia")
