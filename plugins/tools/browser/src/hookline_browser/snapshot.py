"""What a model reads of a page, made from Playwright's ``aria_snapshot(mode="ai")``.

That is YAML: a line for each element, ``- ROLE "NAME" [ref=e5]: TEXT``, its parts below it. First
comes what can be acted on; later only what has changed; the rest is read by page, by words or by
element. Nothing here knows of a browser.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

TOKENS = 2_000
"""Tokens of a report, counted as characters / 4 (CONTRACT, Tools the model sees)."""
CHARS = TOKENS * 4
LINE = 300
"""Characters of one line."""
MASK = "••••••"
LONG_SECRET = 4
"""Characters from which a password is masked wherever it stands, not only in a field."""
ROLES = frozenset(
    (
        *("button", "checkbox", "combobox", "link", "listbox", "menuitem", "menuitemcheckbox"),
        *("menuitemradio", "option", "radio", "searchbox", "slider", "spinbutton", "switch"),
        *("tab", "textbox", "treeitem"),
    )
)
"""What is acted on (WAI-ARIA 1.2, widget roles)."""
CONTEXT = frozenset({"heading", "dialog", "alertdialog", "alert", "status", "iframe"})
"""What says where one is."""
_LINE = re.compile(r"(?P<indent> *)- (?P<rest>.*)", re.DOTALL)
_HEAD = re.compile(r'(?P<role>[\w/-]+)(?: (?P<name>"(?:[^"\\]|\\.)*"))?(?P<marks>(?: \[[^\]]*\])*)')
_REF = re.compile(r"\[ref=((?:f\d+)?e\d+)\]")
_MARK = re.compile(r" ?\[(?!ref=)(?!cursor=)([^\]]*)\]")


@dataclass(frozen=True, slots=True)
class Node:
    """A line of the snapshot: ``depth``, ``role``, ``name`` (quoted, or empty), ``marks`` such as
    ``checked``, ``ref`` (empty where it has none), ``value``, what stands after the colon, and
    whether it ``acts``: it can be clicked although its role does not say so."""

    depth: int
    role: str
    name: str
    marks: str
    ref: str
    value: str
    acts: bool

    @property
    def text(self) -> str:
        """The line as a model reads it."""
        parts = [self.ref, self.role, self.name, f"[{self.marks}]" if self.marks else ""]
        line = " ".join(part for part in parts if part)
        return _short(f"{line}: {self.value}" if self.value else line)


def nodes(snapshot: str, secrets: Iterable[str] = ()) -> list[Node]:
    """Return the lines of a snapshot, with the values of password fields masked.

    ``secrets`` are these values.
    """
    hidden = {secret for secret in secrets if secret}
    found = []
    for line in snapshot.splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        node = _node(len(match["indent"]) // 2, _unquoted(match["rest"]))
        found.append(_masked(node, hidden))
    return found


def _unquoted(rest: str) -> str:
    """A key that holds what YAML could misread is quoted as a whole: ``'link "a: b" [ref=e1]'``."""
    if rest.startswith("'"):
        key, _, tail = rest[1:].replace("''", "\0").partition("'")
        return key.replace("\0", "'") + tail.replace("\0", "''")
    return rest


def _node(depth: int, rest: str) -> Node:
    head = _HEAD.match(rest)
    if head is None:
        return Node(depth, "text", "", "", "", rest, acts=False)
    role, name, marks = head["role"], head["name"] or "", head["marks"]
    value = rest[head.end() :].removeprefix(":").strip()
    ref = _REF.search(marks)
    kept = ", ".join(_MARK.findall(marks))
    acts = "[cursor=pointer]" in marks
    return Node(depth, role, name, kept, ref[1] if ref else "", _plain(value), acts)


def _plain(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] == '"':
        return value[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    return value


def _masked(node: Node, hidden: set[str]) -> Node:
    if not hidden:
        return node
    name, value = node.name, node.value
    flat = {" ".join(secret.split()) for secret in hidden} | hidden
    if node.role in ROLES and value in flat:
        value = MASK
    for secret in flat:
        if len(secret) >= LONG_SECRET:
            name, value = name.replace(secret, MASK), value.replace(secret, MASK)
    return Node(node.depth, node.role, name, node.marks, node.ref, value, node.acts)


def interactive(found: Sequence[Node]) -> list[str]:
    """Return the lines that a model acts on, or that say where it is; a line in a frame or a
    dialog is indented below it."""
    lines = []
    inside: list[int] = []
    for position, node in enumerate(found):
        while inside and node.depth <= inside[-1]:
            inside.pop()
        if node.role == "option" and not node.ref:
            continue
        outer = node.role in ("iframe", "dialog", "alertdialog")
        if outer or _is_shown(node):
            lines.append("  " * len(inside) + node.text + _options(found, position))
        if outer:
            inside.append(node.depth)
    return lines


def _options(found: Sequence[Node], position: int) -> str:
    """What a list offers, in its own line."""
    labels: list[str] = []
    for node in found[position + 1 :]:
        if node.depth <= found[position].depth or node.role not in ("option", "group"):
            break
        if node.role == "option" and not node.ref:
            chosen = "*" if "selected" in node.marks else ""
            labels.append(f"{node.name.strip(chr(34))}{chosen}")
    told = ", ".join(labels)
    return f" of {_short(told)}" if told else ""


def _is_shown(node: Node) -> bool:
    if node.role in CONTEXT:
        return bool(node.name or node.value)
    if node.role in ROLES:
        return bool(node.ref)
    return node.acts and bool(node.ref and (node.name or node.value))


def first(lines: Sequence[str]) -> str:
    """The report of a page that was not reported before: as many lines as there is room for."""
    kept: list[str] = []
    size = 0
    for line in lines:
        size += len(line) + 1
        if size > CHARS - 200:
            left = len(lines) - len(kept)
            told = "browser_read(find=WORDS) finds them, browser_read(page=N) reads the page"
            return "\n".join([*kept, f"[{left} more lines; {told}]"])
        kept.append(line)
    return "\n".join(kept) or "(nothing here can be acted on; browser_read reads the page)"


def difference(before: Sequence[str], now: Sequence[str]) -> str:
    """What has changed since ``before``, by line; the whole where that is shorter."""
    if list(before) == list(now):
        return "(nothing that can be acted on has changed)"
    lines = (
        [line for line in difflib.ndiff(list(before), list(now)) if line[:2] in ("- ", "+ ")]
        if len(before) + len(now) < 1_000
        else _set_difference(before, now)
    )
    text = "\n".join(lines)
    whole = first(now)
    return whole if len(text) >= len(whole) else f"Changed (- gone, + new):\n{text}"


def _set_difference(before: Sequence[str], now: Sequence[str]) -> list[str]:
    """Without the order: comparing thousands of lines in order takes too long."""
    old, new = set(before), set(now)
    return [f"- {line}" for line in before if line not in new] + [
        f"+ {line}" for line in now if line not in old
    ]


def texts(found: Sequence[Node]) -> Iterator[str]:
    """The page's own words in order, with refs and addresses: what ``browser_read`` pages."""
    for node in found:
        if node.role == "/url":
            yield f"  → {_short(node.value)}"
        elif node.role in ROLES or node.role in CONTEXT or node.acts:
            yield node.text
        elif words := " ".join(part for part in (node.name.strip('"'), node.value) if part):
            yield words


def pages(lines: Iterable[str]) -> list[str]:
    """The lines in pages of at most :data:`TOKENS`."""
    made: list[list[str]] = [[]]
    size = 0
    for line in lines:
        for start in range(0, len(line) or 1, CHARS - 400):
            part = line[start : start + CHARS - 400]
            if size + len(part) + 1 > CHARS - 400 and made[-1]:
                made.append([])
                size = 0
            made[-1].append(part)
            size += len(part) + 1
    return ["\n".join(page) for page in made]


def matching(found: Sequence[Node], words: str, limit: int = 40) -> list[str]:
    """Lines that hold every one of ``words``, each with the heading that it stands under."""
    wanted = words.casefold().split()
    lines: list[str] = []
    heading = told = ""
    shown = 0
    for position, node in enumerate(found):
        if node.role == "heading":
            heading = node.text
        if node.role == "/url":
            continue
        line = node.text if node.ref and (node.role in ROLES or node.acts) else _words(node)
        below = found[position + 1] if position + 1 < len(found) else None
        address = below.value if below is not None and below.role == "/url" else ""
        if not line or not all(word in f"{line} {address}".casefold() for word in wanted):
            continue
        if shown == limit:
            return [*lines, "[there are more; use more words]"]
        if heading and heading not in (told, line):
            lines.append(heading)
            told = heading
        lines.append(f"{line} → {_short(address)}" if address else line)
        shown += 1
    return lines


def _words(node: Node) -> str:
    words = " ".join(part for part in (node.name, node.value) if part)
    return _short(f"{node.role}: {words}") if words else ""


def _short(text: str) -> str:
    return text if len(text) <= LINE else text[: LINE - 1] + "…"


def bounded(text: str) -> str:
    """At most :data:`TOKENS` of a text."""
    return text if len(text) <= CHARS else text[: CHARS - 60] + "\n[cut here; browser_read(find=…)]"
