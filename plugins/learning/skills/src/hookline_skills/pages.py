"""The web pages ``/skills``: skills with their text and versions, and actions on them.

Imported when a web server asks for routes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hookline_hookspecs import HooklineError, Page, Route
from hookline_hookspecs.web import (
    N_,
    Action,
    Actions,
    Badge,
    Cell,
    Diff,
    Field,
    Form,
    Group,
    Link,
    Markdown,
    Paging,
    Part,
    Problem,
    Redirect,
    RequestLike,
    Row,
    SiteRoute,
    Stat,
    Stats,
    Table,
    Text,
    Timestamp,
    Tone,
    View,
    build_path,
    create_tables,
    format_number,
    path_param,
    query_params,
    read_form,
    t,
)

from .archive import archive_skill, restore_skill
from .folders import SkillNotFound, archived_names
from .frontmatter import InvalidFrontMatter, split_front_matter
from .history import SkillVersion
from .overview import details, overview
from .parts import SkillParts
from .validation import validate

SKILLS_PER_PAGE = 50
SOURCE_TONES: Mapping[str, Tone] = {
    "agent": "good",
    "installed": "neutral",
    "hand-written": "neutral",
}


class SkillPages:
    """The operator's pages about skills."""

    def __init__(self, parts: SkillParts) -> None:
        self._parts = parts

    def register(self, register: Callable[[Route], None]) -> None:
        """Register the pages and the targets of their forms."""
        create_tables(self._parts.host, "pins")
        register(SiteRoute("GET", "/skills", self.list, page=Page("Skills", "Settings", order=60)))
        register(SiteRoute("GET", "/skills/{name}", self.show))
        for name, handler, log in (
            ("pin", self.pin, N_("pinned skill {name}")),
            ("unpin", self.unpin, N_("unpinned skill {name}")),
            ("archive", self.archive, N_("archived skill {name}")),
            ("restore", self.restore, N_("restored skill {name}")),
        ):
            register(SiteRoute("POST", f"/skills/{{name}}/{name}", handler, log=log))
        register(Route("POST", "/install", self.install, log=N_("installed a skill")))

    async def list(self, request: RequestLike) -> View:
        """``GET /skills[?q=WORDS]``"""
        return await self._list(request)

    async def _list(self, request: RequestLike, source: Field | None = None) -> View:
        words = " ".join(query_params(request).get("q", "").split())
        every = await overview(self._parts)
        rows = [row for row in every if _matches(row, words)]
        paging = Paging.from_request(request, "/skills", SKILLS_PER_PAGE)
        nothing = t(
            "No skills yet. Hookline saves one after a task worth repeating, or install one below."
        )
        parts: list[Part] = [
            Form("/skills", [Field("q", t("Search"), value=words)], t("Search"), get=True),
            Table(
                [t("Skill"), t("Description"), t("Source"), t("State"), t("Uses"), t("Last used")],
                [_row(row) for row in paging.slice(rows)],
                empty=t("No skills match “{words}”.", words=words) if words else nothing,
                more=paging.link(len(rows) - paging.offset, t("More")),
            ),
        ]
        if left_out := self._parts.library.left_out():
            unusable = [Row([name, reason]) for name, reason in left_out.items()]
            parts.append(Table([t("Folder"), t("Problem")], unusable, t("Unusable folders")))
        help_ = t("A folder, an archive or an https URL. For git, add #BRANCH or #TAG.")
        field = source or Field("source", t("From"), help=help_, required=True)
        replacing = Field("replace", t("Replace an existing skill of that name"), "switch")
        install = Form("/skills/install", [field, replacing], t("Install"))
        parts.append(Group(t("Install a skill"), [install], open=source is not None))
        intro = t("Saved procedures, added to a message when relevant.")
        return View(t("Skills"), parts, intro, status=422 if source else 200)

    async def show(self, request: RequestLike) -> View:
        """``GET /skills/NAME[?version=N]``"""
        name, given = path_param(request, "name"), query_params(request).get("version", "")
        number = int(given) if given.isdecimal() and len(given) < 9 else None
        try:
            found = await details(self._parts, name, number)
        except (SkillNotFound, KeyError) as error:
            if number is None and name in archived_names(self._parts.root):
                return await self._archived(name)
            fix = t("Find it under Skills.")
            raise Problem(404, "not_found", _sentence(error), fix) from None
        versions = await self._parts.history.versions(name)
        parts: list[Part] = [
            Stats(
                [
                    Stat(t("Source"), found["origin"], found["source"]),
                    Stat(t("Uses"), format_number(found["uses"])),
                    Stat(t("Versions"), format_number(len(versions))),
                ]
            )
        ]
        if number is None:
            parts += [Actions(_actions(found)), *await self._verdict(name, found)]
        else:
            fields = {"version": str(number)}
            question = t(
                "Restore version {number} of {name}? The current text is kept as a version.",
                number=number,
                name=name,
            )
            label, path = t("Restore version {number}", number=number), _path(name, "restore")
            restore = Action(label, path, fields, question, "primary")
            current = Action(t("Current version"), build_path("skills", name), get=True)
            parts += [Actions([restore, current]), *await self._changes(versions, number)]
        parts += _text(found)
        parts.append(_versions(name, versions))
        title = name if number is None else t("{name}, version {number}", name=name, number=number)
        return View(title, parts, found["description"], (Link(t("Skills"), "/skills"),))

    async def _archived(self, name: str) -> View:
        """The page of an archived skill."""
        restore = Action(t("Restore"), _path(name, "restore"), style="primary")
        versions = await self._parts.history.versions(name.partition("@")[0])
        note = t("This skill is archived. It is kept but not used.")
        return View(
            name,
            [Text(note), Actions([restore]), _versions(name, versions)],
            "",
            (Link(t("Skills"), "/skills"),),
        )

    async def _verdict(self, name: str, found: Mapping[str, Any]) -> Sequence[Part]:
        skill = self._parts.library.find(name)
        folder = skill.folder if skill is not None else self._parts.root / name
        verdict = await asyncio.to_thread(validate, folder)
        findings: list[Part] = [Text(error, "bad") for error in verdict.errors]
        findings += [Text(text, "warning") for text in (*verdict.warnings, *found["problems"])]
        findings += [
            Text(t("Changed since it was installed: {change}.", change=change), "warning")
            for change in found["changes"]
        ]
        return findings or [Text(t("Valid according to agentskills.io."), "good")]

    async def _changes(self, versions: Sequence[SkillVersion], number: int) -> Sequence[Part]:
        """What a version changed, file by file."""
        index = next(n for n, one in enumerate(versions) if one.number == number)
        after = await self._parts.history.files(versions[index])
        before = await self._parts.history.files(versions[index - 1]) if index else {}
        changed = [path for path in {**before, **after} if before.get(path) != after.get(path)]
        diffs = [Diff(_decoded(before, path), _decoded(after, path), path) for path in changed]
        return diffs or [Text(t("No files changed in this version."))]

    async def pin(self, request: RequestLike) -> Redirect:
        """``POST /skills/NAME/pin``"""
        skill = self._parts.library.find(path_param(request, "name"))
        if skill is None:
            raise Problem(404, "not_found", t("Skill not found."))
        await self._parts.records.pin(skill.name)
        return Redirect(
            build_path("skills", skill.name),
            t("{name} is pinned: it will not be changed or archived.", name=skill.name),
        )

    async def unpin(self, request: RequestLike) -> Redirect:
        """``POST /skills/NAME/unpin``"""
        name = path_param(request, "name")
        await self._parts.records.unpin(name)
        return Redirect(build_path("skills", name), t("{name} is unpinned.", name=name))

    async def archive(self, request: RequestLike) -> Redirect:
        """``POST /skills/NAME/archive``"""
        name = path_param(request, "name")
        try:
            await archive_skill(self._parts, name)
        except (SkillNotFound, OSError) as error:
            return Redirect("/skills", _sentence(error), "bad")
        return Redirect("/skills", t("{name} was archived.", name=name))

    async def restore(self, request: RequestLike) -> Redirect:
        """``POST /skills/NAME/restore``: optionally with ``version``"""
        name, given = path_param(request, "name"), (await read_form(request)).get("version", "")
        if given and not (given.isdecimal() and len(given) < 9):
            raise Problem(400, "bad_version", t("The version must be a number."))
        try:
            result = await restore_skill(self._parts, name, int(given) if given else None)
        except (SkillNotFound, KeyError, OSError) as error:
            return Redirect("/skills", _sentence(error), "bad")
        return Redirect(build_path("skills", name.partition("@")[0]), result)

    async def install(self, request: RequestLike) -> Redirect | View:
        """``POST /skills/install``: ``source replace``"""
        from .installer import InstallRequest, SkillInstaller

        form, parts = await read_form(request), self._parts
        source, replacing = form.get("source", "").strip(), form.get("replace") == "true"
        try:
            if not source:
                raise HooklineError(t("enter where the skill is"))
            await asyncio.to_thread(parts.library.root.mkdir, 0o700, True, True)
            installer = SkillInstaller(parts.host, parts.library, parts.history, parts.editor)
            names = await installer.install(InstallRequest(source, (), replacing, False))
        except (HooklineError, LookupError, OSError) as error:
            field = Field("source", t("From"), value=source, required=True, error=_sentence(error))
            return await self._list(request, field)
        return Redirect("/skills", t("Installed: {names}.", names=", ".join(names)))


def _row(row: Mapping[str, Any]) -> Row:
    name = row["name"]
    states = [one for one in ("pinned", "archived") if row[one]]
    states += ["changed"] if row["changes"] else []
    states += ["problems"] if row["problems"] else []
    state = (
        Badge(", ".join(states), "warning" if row["problems"] else "neutral") if states else None
    )
    last = Timestamp(row["last_used"]) if row["last_used"] else None
    by = Badge(row["origin"], SOURCE_TONES.get(row["origin"], "neutral")) if row["origin"] else None
    cells: list[Cell] = [Link(name, build_path("skills", name)), row["description"], by, state]
    return Row([*cells, row["uses"], last], _actions(row))


def _actions(row: Mapping[str, Any]) -> list[Action]:
    name = row["name"]
    if row["archived"]:
        return [Action(t("Restore"), _path(name, "restore"))]
    pin_action = "unpin" if row["pinned"] else "pin"
    question = t("Archive {name}? You can restore it later.", name=name)
    pin = Action(pin_action.capitalize(), _path(name, pin_action))
    if row["origin"] in ("plugin", "team"):
        return [pin]
    return [pin, Action(t("Archive"), _path(name, "archive"), confirm=question)]


def _path(name: str, what: str) -> str:
    return build_path("skills", name, what)


def _matches(row: Mapping[str, Any], words: str) -> bool:
    text = f"{row['name']} {row['description']}".casefold()
    return all(word in text for word in words.casefold().split())


def _text(found: Mapping[str, Any]) -> Sequence[Part]:
    """The skill's text, its front matter collapsed, and the names of its files."""
    try:
        front, body = split_front_matter(found["text"])
    except InvalidFrontMatter:
        front, body = "", found["text"]
    parts: list[Part] = [Group(t("Text"), [Markdown(body)])]
    if front:
        parts.append(Group(t("Front matter"), [Markdown(f"````\n{front}\n````")], open=False))
    if found["files"]:
        parts.append(Table([t("File")], [Row([path]) for path in found["files"]], t("Files")))
    return parts


def _versions(name: str, versions: Sequence[SkillVersion]) -> Table:
    rows = []
    for version in reversed(versions):
        link = Link(str(version.number), build_path("skills", name, version=str(version.number)))
        session = (
            Link(t("session"), build_path("sessions", version.session_id))
            if version.session_id
            else None
        )
        rows.append(
            Row(
                [
                    link,
                    Timestamp(version.at),
                    version.action,
                    version.author,
                    session,
                    len(version.files),
                ]
            )
        )
    columns = [t("Version"), t("When"), t("Change"), t("By"), t("Session"), t("Files")]
    empty = t("No versions: it was never changed through Hookline.")
    return Table(columns, rows, t("Versions"), empty)


def _decoded(files: Mapping[str, bytes], path: str) -> str:
    return files.get(path, b"").decode("utf-8", "replace")


def _sentence(error: Exception) -> str:
    text = str(error.args[0] if isinstance(error, KeyError) and error.args else error)
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?")) else ".")
