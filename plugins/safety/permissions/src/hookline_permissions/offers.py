"""What an approval offers beyond this once: rules that would have allowed the call.

Never offered are patterns that let a program run anything: interpreters with code, ``sudo``,
``xargs``, ``find`` and the like. What a command runs from a file is bound to the file's content.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hookline_hookspecs import OfferedScope, Paths, ToolCall
from hookline_hookspecs.sentences import N_

from .command_patterns import Arguments
from .commands import UNKNOWN, ParsedCommand, SimpleCommand
from .commands.wrappers import wrappers
from .content import DIGEST_CHARS, RunContent, is_interpreter, run_content
from .coverage import part_rules, with_folders
from .network_patterns import NETWORK, REGISTRIES, host_and_port, registries
from .places import Places
from .rule_set import RuleSet, needs_person, parsed_command, part_outside, places_of
from .rules import COMMAND_TOOL, EXACT, MAX_RULE_CHARS, SANDBOXED, SESSION, RuleError, parse_rule

MAX_SCOPES = 3
MAX_OFFERED_PARTS = 4
"""Parts of a line for which patterns are offered together."""
WRITING_TOOLS = ("write_file", "edit_file")
READING_TOOLS = ("read_file", "list_dir", "glob", "grep")
_SANDBOX_SCOPE = OfferedScope(
    "Allow everything that stays in the sandbox in this session",
    (f"{COMMAND_TOOL}({SANDBOXED})",),
    "every command, except what is refused, asked about by a rule, or needs the machine itself",
)


@cache
def _table() -> dict[str, Any]:
    import yaml

    text = files(__package__).joinpath("data", "offers.yaml").read_text("utf-8")
    loaded: dict[str, Any] = yaml.load(text, yaml.CSafeLoader)
    return loaded


def offered_scopes(
    call: ToolCall,
    paths: Paths,
    rules: RuleSet,
    *,
    sandboxed: bool = False,
    all_changes: bool = False,
) -> tuple[OfferedScope, ...]:
    """Up to :data:`MAX_SCOPES` scopes, the narrowest first.

    ``sandboxed``: the command runs in the sandbox, unless a part of it does not work there. Outside
    of it a pattern is offered only for programs whose subcommands are known. ``all_changes``: what
    packaged rules allow is asked about too, because it may change something. A scope is offered
    only if its rules, added to ``rules``, would have allowed the call.
    """
    if call.name == COMMAND_TOOL:
        sandboxed = sandboxed and not part_outside(call, paths)
        found = _of_command(call, paths, rules, sandboxed=sandboxed, all_changes=all_changes)
    elif call.name == NETWORK:
        found = _of_host(call)
    elif "path" in call.arguments:
        found = _of_file(call, paths)
    elif isinstance(url := call.arguments.get("url"), str):
        found = _of_address(call, url)
    else:
        found = iter((_of_tool(call),))
    fitting = (
        one
        for one in found
        if _allows(one, call, paths, rules, sandboxed=sandboxed, all_changes=all_changes)
    )
    return tuple(one for one, _ in zip(fitting, range(MAX_SCOPES), strict=False))


def _allows(
    scope: OfferedScope,
    call: ToolCall,
    paths: Paths,
    rules: RuleSet,
    *,
    sandboxed: bool,
    all_changes: bool,
) -> bool:
    try:
        added = [parse_rule("allow", text, SESSION) for text in scope.rules]
    except RuleError:
        return False
    decision = RuleSet([*added, *rules.rules]).decide(call, paths, sandboxed=sandboxed)
    return decision.kind == "allow" and not (all_changes and needs_person(decision.rule))


def _of_command(
    call: ToolCall, paths: Paths, rules: RuleSet, *, sandboxed: bool, all_changes: bool
) -> Iterator[OfferedScope]:
    command = call.arguments.get("command")
    if isinstance(command, str):
        parsed, places = parsed_command(command), places_of(call, paths)
        if not call.arguments.get("workdir"):
            yield from _exact_scope(command.strip(), parsed, places)
        # A pattern would also cover what is asked about.
        if not parsed.unread and rules.decide(call, paths).kind != "ask":
            yield from _pattern_scope(
                parsed, places, paths, rules, sandboxed=sandboxed, all_changes=all_changes
            )
    if sandboxed:
        yield _SANDBOX_SCOPE


def _exact_scope(line: str, parsed: ParsedCommand, places: Places) -> Iterator[OfferedScope]:
    """Offer the command as it is written, bound to the content of the file that it runs."""
    bound = [
        content
        for part, there in with_folders(parsed, places)
        if (content := run_content(part, there)) is not None
    ]
    if line and len(line) < MAX_RULE_CHARS - 100 and len(bound) < 2:
        digest = _digest(bound[0]) if bound else ""
        yield OfferedScope(
            "Allow this exact command in this session",
            (f"{COMMAND_TOOL}({EXACT}{line}){digest}",),
            _covers([line], bound),
        )


def _pattern_scope(
    parsed: ParsedCommand,
    places: Places,
    paths: Paths,
    rules: RuleSet,
    *,
    sandboxed: bool,
    all_changes: bool,
) -> Iterator[OfferedScope]:
    """Offer patterns for the parts of a command that no rule allows yet, all of them together."""
    covered = part_rules(parsed, rules.of("allow", COMMAND_TOOL), places, paths)
    asked = [part for part, rule in covered if rule is None or (all_changes and needs_person(rule))]
    missing = _outermost(asked)
    if not sandboxed and not all(_is_known(part, places) for part in missing):
        return
    if not 0 < len(missing) <= MAX_OFFERED_PARTS:
        return
    known = [offer for part in missing if (offer := _pattern_of(part, places)) is not None]
    if len(known) < len(missing):
        return
    patterns = list(dict.fromkeys(pattern for pattern, _ in known))
    contents = [content for _, content in known if content is not None]
    listed = " and ".join(f"`{_without_digest(pattern)}`" for pattern in patterns)
    yield OfferedScope(
        f"Allow {listed} in this chat",
        tuple(_as_rule(pattern) for pattern in patterns),
        _covers([_without_digest(pattern) for pattern in patterns], contents),
        "chat",
    )


def _outermost(parts: Sequence[SimpleCommand]) -> list[SimpleCommand]:
    """The parts without those that a wrapper among them starts."""
    found: list[SimpleCommand] = []
    for part in parts:
        outer = found[-1] if found else None
        around = (*outer.wrappers, outer.program) if outer is not None else ("",)
        if part.wrappers[: len(around)] != around:
            found.append(part)
    return found


def _pattern_of(command: SimpleCommand, places: Places) -> tuple[str, RunContent | None] | None:
    """A pattern for a part of a command, and the content that it is bound to; None if none may be
    offered."""
    name = command.program
    words = [word.text for word in command.words]
    if not words or UNKNOWN in "".join(words[:2]) or name in _table()["never"]:
        return None
    if any(set("*|<>()'\"`\n") & set(word) for word in words[:3]):
        return None
    content = run_content(command, places)
    bound = content is not None and bool(content.part)
    if bound or is_interpreter(name) or "/" in words[0] or name in _table()["bound"]:
        return _bound_pattern(command, content)
    if len(words) > 1 and words[1] in _table()["running"].get(name, ()):
        return None
    wrapper = wrappers().get(name)
    starting = wrapper.subcommands if wrapper is not None else None
    if starting and len(words) > 1 and words[1] in starting:
        return _wrapper_pattern(words, starting[words[1]])
    depths = _table()["subcommands"]
    depth = depths.get(" ".join(words[:2]), depths.get(name, 0))
    leading = Arguments.of(command).operands[:depth]
    if len(leading) < depth or any(word.startswith("-") for word in words[1 : depth + 1]):
        return None
    if any(map(_is_exact_only, [*leading, f"{name} {leading[0] if leading else ''}"])):
        return None
    return " ".join([name, *leading, "*"]), None


def _is_known(command: SimpleCommand, places: Places) -> bool:
    """True for a program whose subcommands are known, or whose pattern is bound to a file."""
    return command.program in _table()["subcommands"] or run_content(command, places) is not None


def _is_exact_only(subcommand: str) -> bool:
    return any(fnmatchcase(subcommand, one) for one in _table()["never_subcommands"])


def _wrapper_pattern(words: Sequence[str], skip: int) -> tuple[str, RunContent | None] | None:
    """``uv run pytest *``: the pattern of a wrapper names the program that it starts."""
    if skip or len(words) < 3 or words[2].startswith("-"):
        return None
    if words[2] in _table()["never"] or is_interpreter(words[2]) or "/" in words[2]:
        return None
    return f"{' '.join(words[:3])} *", None


def _bound_pattern(
    command: SimpleCommand, content: RunContent | None
) -> tuple[str, RunContent | None] | None:
    """The pattern of a program that runs a file, for as long as the file is the same."""
    if content is None:
        return None
    words = [word.text for word in command.words]
    operands = Arguments.of(command).operands
    if "/" in words[0]:
        kept = [words[0]]
    elif content.part or is_interpreter(command.program):
        named = content.part or operands[0]
        if named not in words:
            return None
        kept = words[: words.index(named) + 1]
    else:
        kept = [words[0]]
    return f"{' '.join(kept)} *{_digest(content)}", content


def _digest(content: RunContent) -> str:
    return f" #sha256:{content.digest[:DIGEST_CHARS]}"


def _without_digest(pattern: str) -> str:
    return pattern.partition(" #sha256:")[0]


def _as_rule(pattern: str) -> str:
    bare, mark, digest = pattern.partition(" #sha256:")
    return f"{COMMAND_TOOL}({bare}){mark}{digest}"


def _covers(commands: Sequence[str], contents: Sequence[RunContent]) -> str:
    lines = [
        f"{command[:-2]}, with any words after it" if command.endswith(" *") else command
        for command in commands
    ]
    lines += [f"as long as {content.name} stays as it is" for content in contents]
    return "\n".join(lines)


def _of_file(call: ToolCall, paths: Paths) -> Iterator[OfferedScope]:
    named = call.arguments.get("path")
    if not isinstance(named, str) or not named or "\0" in named:
        return
    path = os.path.realpath(Path(paths.workspace, os.path.expanduser(named)))  # noqa: PTH111
    writes = call.name in WRITING_TOOLS
    tools = "|".join(WRITING_TOOLS if writes else READING_TOOLS)
    if not writes and call.name not in READING_TOOLS:
        yield _of_tool(call)
        return
    if _is_plain(path):
        shown = _shown(path, paths.workspace)
        yield OfferedScope(
            f"Allow edits of {shown} in this session"
            if writes
            else f"Allow reading {shown} in this session",
            (f"{tools}({shown})",),
            shown,
        )
    folder = os.path.dirname(path)  # noqa: PTH120
    if _is_plain(folder) and folder != "/":
        shown = _shown(folder, paths.workspace)
        pattern = "**" if shown == "." else f"{shown}/**"
        where = N_("this folder") if shown == "." else f"{shown}/"
        rule = f"{tools}({paths.workspace}/**)" if shown == "." else f"{tools}({pattern})"
        yield OfferedScope(
            f"Allow edits in {where} in this session"
            if writes
            else f"Allow reading in {where} in this session",
            (rule,),
            f"every file in {where} and below",
        )


def _is_plain(path: str) -> bool:
    return not set("*?()|\n") & set(path)


def _shown(path: str, workspace: Path) -> str:
    """A path relative to the workspace if it is in there."""
    if path == str(workspace):
        return "."
    return path.removeprefix(f"{workspace}/")


def _of_address(call: ToolCall, url: str) -> Iterator[OfferedScope]:
    try:
        host = urlsplit(url).hostname
    except ValueError:
        return
    if host:
        yield OfferedScope(
            f"Allow {call.name} from {host} in this session",
            (f"{call.name}(domain:{host})",),
            f"every page of {host}",
        )
        yield OfferedScope(
            f"Allow {call.name} from {host} in this chat",
            (f"{call.name}(domain:{host})",),
            f"every page of {host}",
            "chat",
        )


def _of_host(call: ToolCall) -> Iterator[OfferedScope]:
    asked = host_and_port(call.arguments)
    if asked is None:
        return
    host, _ = asked
    group = host in registries()
    rule = (f"{NETWORK}([{host}])" if ":" in host else f"{NETWORK}({host})",)
    covers = f"every port of {host}, for sandboxed programs"
    yield OfferedScope(f"Allow {host} in this session", rule, covers)
    if group:
        rule = (f"{NETWORK}({REGISTRIES})",)
        covers = f"{len(registries())} hosts from which package managers download"
        yield OfferedScope("Allow package registries in this session", rule, covers)
    what = N_("package registries") if group else host
    yield OfferedScope(f"Allow {what} always in this chat", rule, covers, "chat")


def _of_tool(call: ToolCall) -> OfferedScope:
    return OfferedScope(
        f"Allow every call of {call.name} in this session",
        (call.name,),
        f"{call.name} with any arguments",
    )
