"""The text that a model reads of a page, made from Playwright's ``aria_snapshot(mode="ai")``.

The snapshot is YAML: a line for each element, ``- ROLE "NAME" [ref=e5]: TEXT``, with its children
below. The first report lists the elements that can be used, later reports the changes; the rest is
read by page, by words or by element.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

MAX_TOKENS = 2_000
"""Tokens of a report, counted as characters / 4."""
MAX_CHARS = MAX_TOKENS * 4
MAX_LINE_CHARS = 300
MAX_FOUND_LINES = 40
MASK = "••••••"
MIN_MASKED_CHARS = 4
"""A password of at least this length is masked everywhere, not only in fields."""
ACTION_ROLES = frozenset(
    (
        *("button", "checkbox", "combobox", "link", "listbox", "menuitem", "menuitemcheckbox"),
        *("menuitemradio", "option", "radio", "searchbox", "slider", "spinbutton", "switch"),
        *("tab", "textbox", "treeitem"),
    )
)
"""Roles of elements that can be used (WAI-ARIA 1.2, widget roles)."""
CONTEXT_ROLES = frozenset({"heading", "dialog", "alertdialog", "alert", "status", "iframe"})
"""Roles of elements that give orientation."""
_LINE = re.compile(r"(?P<indent> *)- (?P<rest>.*)", re.DOTALL)
_HEAD = re.compile(r'(?P<role>[\w/-]+)(?: (?P<name>"(?:[^"\\]|\\.)*"))?(?P<marks>(?: \[[^\]]*\])*)')
_REF = re.compile(r"\[ref=((?:f\d+)?e\d+)\]")
_MARK = re.compile(r" ?\[(?!ref=)(?!cursor=)([^\]]*)\]")


@dataclass(frozen=True, slots=True)
class SnapshotNode:
    """A line of the snapshot: ``depth``, ``role``, ``name`` (quoted, or empty), ``marks`` such as
    ``checked``, ``ref`` (may be empty), ``value`` (the text after the colon), and ``acts``: it can
    be clicked although its role does not say so."""

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


def parse(snapshot: str, secrets: Iterable[str] = ()) -> list[SnapshotNode]:
    """Parse a snapshot and mask ``secrets``, the values of password fields."""
    secrets_to_mask = {secret for secret in secrets if secret}
    found = []
    for line in snapshot.splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        node = _parse_node(len(match["indent"]) // 2, _unquote_key(match["rest"]))
        found.append(_mask_secrets(node, secrets_to_mask))
    return found


def _unquote_key(rest: str) -> str:
    """Unquote a key that YAML quotes as a whole: ``'link "a: b" [ref=e1]'``."""
    if rest.startswith("'"):
        key, _, tail = rest[1:].replace("''", "\0").partition("'")
        return key.replace("\0", "'") + tail.replace("\0", "''")
    return rest


def _parse_node(depth: int, rest: str) -> SnapshotNode:
    head = _HEAD.match(rest)
    if head is None:
        return SnapshotNode(depth, "text", "", "", "", rest, acts=False)
    role, name, marks = head["role"], head["name"] or "", head["marks"]
    value = rest[head.end() :].removeprefix(":").strip()
    ref = _REF.search(marks)
    kept = ", ".join(_MARK.findall(marks))
    acts = "[cursor=pointer]" in marks
    return SnapshotNode(depth, role, name, kept, ref[1] if ref else "", _unquote_value(value), acts)


def _unquote_value(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] == '"':
        return value[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    return value


def _mask_secrets(node: SnapshotNode, secrets_to_mask: set[str]) -> SnapshotNode:
    if not secrets_to_mask:
        return node
    name, value = node.name, node.value
    flat = {" ".join(secret.split()) for secret in secrets_to_mask} | secrets_to_mask
    if node.role in ACTION_ROLES and value in flat:
        value = MASK
    for secret in flat:
        if len(secret) >= MIN_MASKED_CHARS:
            name, value = name.replace(secret, MASK), value.replace(secret, MASK)
    return SnapshotNode(node.depth, node.role, name, node.marks, node.ref, value, node.acts)


def interactive(found: Sequence[SnapshotNode]) -> list[str]:
    """Return the lines of usable elements and of those that give orientation; lines in a frame or
    dialog are indented."""
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


def _options(found: Sequence[SnapshotNode], position: int) -> str:
    """The options of a list, for its line."""
    labels: list[str] = []
    for node in found[position + 1 :]:
        if node.depth <= found[position].depth or node.role not in ("option", "group"):
            break
        if node.role == "option" and not node.ref:
            chosen = "*" if "selected" in node.marks else ""
            labels.append(f"{node.name.strip(chr(34))}{chosen}")
    text = ", ".join(labels)
    return f" of {_short(text)}" if text else ""


def _is_shown(node: SnapshotNode) -> bool:
    if node.role in CONTEXT_ROLES:
        return bool(node.name or node.value)
    if node.role in ACTION_ROLES:
        return bool(node.ref)
    return node.acts and bool(node.ref and (node.name or node.value))


def first_report(lines: Sequence[str]) -> str:
    """The first report of a page: as many lines as fit."""
    kept: list[str] = []
    size = 0
    for line in lines:
        size += len(line) + 1
        if size > MAX_CHARS - 200:
            left = len(lines) - len(kept)
            text = "browser_read(find=WORDS) finds them, browser_read(page=N) reads the page"
            return "\n".join([*kept, f"[{left} more lines; {text}]"])
        kept.append(line)
    return "\n".join(kept) or "(nothing here can be acted on; browser_read reads the page)"


def changed_lines(before: Sequence[str], now: Sequence[str]) -> str:
    """The changed lines since ``before``, or the whole report if that is shorter."""
    if list(before) == list(now):
        return "(nothing that can be acted on has changed)"
    lines = (
        [line for line in difflib.ndiff(list(before), list(now)) if line[:2] in ("- ", "+ ")]
        if len(before) + len(now) < 1_000
        else _set_difference(before, now)
    )
    text = "\n".join(lines)
    whole = first_report(now)
    return whole if len(text) >= len(whole) else f"Changed (- gone, + new):\n{text}"


def _set_difference(before: Sequence[str], now: Sequence[str]) -> list[str]:
    """Changes regardless of order, which is too slow to compare for thousands of lines."""
    old, new = set(before), set(now)
    return [f"- {line}" for line in before if line not in new] + [
        f"+ {line}" for line in now if line not in old
    ]


def page_text(found: Sequence[SnapshotNode]) -> Iterator[str]:
    """The page's text in order, with refs and addresses, for ``browser_read``."""
    for node in found:
        if node.role == "/url":
            yield f"  → {_short(node.value)}"
        elif node.role in ACTION_ROLES or node.role in CONTEXT_ROLES or node.acts:
            yield node.text
        elif words := " ".join(part for part in (node.name.strip('"'), node.value) if part):
            yield words


def paginate(lines: Iterable[str]) -> list[str]:
    """Join the lines into pages of at most :data:`MAX_TOKENS`."""
    made: list[list[str]] = [[]]
    size = 0
    for line in lines:
        for start in range(0, len(line) or 1, MAX_CHARS - 400):
            part = line[start : start + MAX_CHARS - 400]
            if size + len(part) + 1 > MAX_CHARS - 400 and made[-1]:
                made.append([])
                size = 0
            made[-1].append(part)
            size += len(part) + 1
    return ["\n".join(page) for page in made]


def find_words(found: Sequence[SnapshotNode], words: str) -> list[str]:
    """Lines that contain all of ``words``, each with its heading."""
    folded = words.casefold().split()
    lines: list[str] = []
    heading = text = ""
    shown = 0
    for position, node in enumerate(found):
        if node.role == "heading":
            heading = node.text
        if node.role == "/url":
            continue
        line = node.text if node.ref and (node.role in ACTION_ROLES or node.acts) else _words(node)
        below = found[position + 1] if position + 1 < len(found) else None
        address = below.value if below is not None and below.role == "/url" else ""
        if not line or not all(word in f"{line} {address}".casefold() for word in folded):
            continue
        if shown == MAX_FOUND_LINES:
            return [*lines, "[there are more; use more words]"]
        if heading and heading not in (text, line):
            lines.append(heading)
            text = heading
        lines.append(f"{line} → {_short(address)}" if address else line)
        shown += 1
    return lines


def _words(node: SnapshotNode) -> str:
    words = " ".join(part for part in (node.name, node.value) if part)
    return _short(f"{node.role}: {words}") if words else ""


def _short(text: str) -> str:
    return text if len(text) <= MAX_LINE_CHARS else text[: MAX_LINE_CHARS - 1] + "…"


def cut_to_limit(text: str) -> str:
    """At most :data:`MAX_TOKENS` of a text."""
    return (
        text
        if len(text) <= MAX_CHARS
        else text[: MAX_CHARS - 60] + "\n[cut here; browser_read(find=…)]"
    )
