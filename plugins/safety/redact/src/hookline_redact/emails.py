"""E-mail addresses: with plus, subdomains, quotes, in any script, percent-encoded in URLs."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

from .spans import Span
from .text_view import TextView

# RFC 5321 §4.5.3.1: 64 octets of local part, 255 of domain.
_QUOTED = re.compile(r'"(?:[^"\\\n]|\\.){1,62}"\Z')
_LOCAL = re.compile(r"[\w.!#$%&'*+?^`{|}~-]{1,64}\Z")
_LITERAL = re.compile(r"\[(?:IPv6:)?[0-9A-Fa-f:.]{3,45}\]")
_LABELS = re.compile(r"[^\W_](?:[\w-]{0,61}[^\W_])?(?:\.[^\W_](?:[\w-]{0,61}[^\W_])?){1,10}")
# Hosts that a shell reaches, not addresses: `git@host:path`, `ssh user@host`.
_REMOTE_PATH = re.compile(r":(?:[~/]|[\w.-]{1,100}/)")
_SHELL = re.compile(
    r"\b(?:ssh|scp|sftp|rsync|mosh|ssh-copy-id|sshfs)(?:[ \t]+[^\s@|;&]+){0,8}[ \t]+\Z"
)
_NO_SPACES = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)


def find_emails(view: TextView) -> Iterator[Span]:
    """Find the addresses."""
    text = view.text
    for sign in ("@", "%40"):
        at = text.find(sign)
        while at >= 0:
            end = at + len(sign)
            span = _address(text, at, end)
            if span is not None:
                yield span
                end = span.end
            at = text.find(sign, end)


@cache
def top_level_domains() -> frozenset[str]:
    """The names in ``tlds.txt``, in lower case."""
    lines = (files(__package__) / "tlds.txt").read_text("utf-8").splitlines()
    return frozenset(" ".join(line for line in lines if not line.startswith("#")).split())


def _address(text: str, at: int, after: int) -> Span | None:
    end = _domain_end(text, after)
    if end is None:
        return None
    quoted = _QUOTED.search(text, max(0, at - 64), at) if text[at - 1 : at] == '"' else None
    start = quoted.start() if quoted else _local_start(text, at)
    if start is None or _is_remote(text, start, at, end):
        return None
    return Span(start, end, "email")


def _domain_end(text: str, start: int) -> int | None:
    literal = _LITERAL.match(text, start, start + 60)
    if literal is not None:
        return literal.end()
    found = _LABELS.match(text, start, start + 255)
    if found is None:
        return None
    last = found[0].rpartition(".")[2]
    plain = re.match(r"[A-Za-z]{2,63}|xn--[A-Za-z0-9-]{2,59}", last)
    if plain is not None and plain.end() < len(last):
        # Text may follow without a space, as in "bob@example.com谢谢".
        if last[plain.end()].isascii() or plain[0].lower() not in top_level_domains():
            return None
        return found.end() - len(last) + plain.end()
    if plain is not None:
        known = last.lower().startswith("xn--") or last.lower() in top_level_domains()
        return (
            found.end() if known else _without_last_label(text, start, found.end() - len(last) - 1)
        )
    return found.end() if not last.isascii() and last[0].isalpha() else None


def _without_last_label(text: str, start: int, end: int) -> int | None:
    """The end without an unknown last label: in "bob@example.com.Then" a sentence follows."""
    last = text[start:end].rpartition(".")
    next_word = text[end + 1 : end + 2]
    known = last[1] and last[2].lower() in top_level_domains() and next_word.isupper()
    return end if known else None


def _local_start(text: str, at: int) -> int | None:
    found = _LOCAL.search(text, max(0, at - 64), at)
    if found is None:
        return None
    start = found.start()
    # A word of a script without spaces may precede the address directly.
    for index in range(at - 1, start, -1):
        if _NO_SPACES.match(text[index - 1]) and text[index].isascii():
            if text[index].isalnum():
                start = index
            break
    while start < at and not text[start].isalnum() and not unicodedata.combining(text[start]):
        start += 1
    if start == at or text[at - 1] == ".":
        return None
    return start


def _is_remote(text: str, start: int, at: int, end: int) -> bool:
    """Whether this is the ``user@host`` of a shell command or a URL."""
    if text[max(0, start - 3) : start] == "://" or _REMOTE_PATH.match(text, end):
        return True
    if text[max(0, start - 1) : start] in ("/", ":") and "://" in text[max(0, start - 80) : start]:
        scheme = text.rfind("://", max(0, start - 80), start)
        inner = text[scheme + 3 : start]
        if inner and ":" in inner and not any(char in "/?#@ \n\"'<>" for char in inner):
            return True  # the password of a URL, which is another kind
    line = max(text.rfind("\n", max(0, start - 200), start) + 1, start - 200, 0)
    return text[start:at] == "git" or _SHELL.search(text, line, start) is not None
