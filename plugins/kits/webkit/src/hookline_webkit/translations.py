"""Updates the catalogues of packages from the sentences in their sources.

``python -m hookline_webkit.translations PACKAGE_FOLDER… [--add LANGUAGE] [--check]`` finds
``t("…")``, ``tn("…", "…", n)`` and ``N_("…")`` in Python, Jinja templates and JavaScript, and the
values of a key in YAML that says ``# translate: KEY``. It also finds what Python shows without
these functions, see :data:`ARGUMENTS`, and the summary in ``pyproject.toml``. It adds new
sentences, untranslated, to ``locale/LANGUAGE/messages.po`` for each language that the folder has,
and removes those that are gone.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from string import Formatter
from typing import Any

from babel import Locale
from babel.messages.catalog import Catalog
from babel.messages.extract import extract, extract_python
from babel.messages.plurals import get_plural
from babel.messages.pofile import read_po, write_po
from hookline_hookspecs.web.finished_text import templates

KEYWORDS: dict[str, Any] = {"t": None, "tx": None, "tn": (1, 2), "N_": None, "Page": None}
"""The functions that translate, with the arguments that are sentences; a ``Page`` has a title."""
ARGUMENTS: dict[str, set[int | str]] = {
    "Ask": {0, "reason"},
    "Check": {0, "name"},
    "CheckResult": {1, 2, "detail", "fix"},
    "Deny": {0, "reason"},
    "Field": {"title", "description"},
    "N_": {0},
    "OfferedScope": {0, "label"},
    "ScheduleError": {0},
    "notify": {0},
    "field": {"title", "description"},
}
"""Calls in Python with arguments that are finished text: constants, f-strings, and these after
``if`` and ``else``; also what a slash command returns, and in a class the docstring of an attribute
whose ``Field`` has a title."""
SHELL = re.compile(r"(?:chmod|hookline|pip) [^,]*")
"""A command to run, the same in every language."""
SUMMARY = re.compile(r"^Hookline [a-z]+: ")
"""What stands before the summary of a package."""
_STRING = r'"((?:[^"\\\n]|\\.)*)"'
_CALL = re.compile(rf"(?<![\w.$])(t|tx|tn|N_)\(\s*{_STRING}(?:,\s*{_STRING})?")
"""A call in JavaScript; Babel's own lexer does not see those inside of nested templates."""
WIDTH = 100


def javascript(file: Any, keywords: Any, comments: Any, options: Any) -> Iterator[Any]:
    """Extract from JavaScript, as Babel calls it."""
    text = file.read().decode("utf-8")
    for call in _CALL.finditer(text):
        first, second = (one and _unescape(one) for one in call.groups()[1:])
        line = text.count("\n", 0, call.start()) + 1
        yield line, call[1], (first, second) if call[1] == "tn" else first, []


def python(file: Any, keywords: Any, comments: Any, options: Any) -> Iterator[Any]:
    """Extract from Python, as Babel calls it; f-strings become sentences with ``{name}``."""
    others: Any = set(keywords) - {"N_"}
    yield from extract_python(file, others, comments, options)
    file.seek(0)
    for node in ast.walk(ast.parse(file.read())):
        if isinstance(node, ast.JoinedStr):  # which Babel does not look into
            yield from ((0, "t", sentence, []) for sentence in _translated_inside(node))
        for sentence in _finished_texts(node):
            if not SHELL.fullmatch(sentence):
                yield 0, "N_", sentence, []


def _translated_inside(text: ast.JoinedStr) -> Iterator[str]:
    """Yield the sentences of ``f"… {t('…')}"``."""
    for node in ast.walk(text):
        if isinstance(node, ast.Call) and _name(node.func) == "t" and node.args:
            yield from _texts(node.args[0])


def _finished_texts(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Call):
        known = ARGUMENTS.get(_name(node.func), set())
        given = [*enumerate(node.args), *((one.arg, one.value) for one in node.keywords)]
        for name, value in given:
            yield from _texts(value) if name in known else ()
    if isinstance(node, ast.ClassDef):
        yield from _help_of_settings(node)
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return
    if any(map(_is_slash_command, node.decorator_list)):
        yield (ast.get_docstring(node) or "").partition("\n")[0]
        for one in ast.walk(node):
            if isinstance(one, ast.Return) and one.value is not None:
                yield from _texts(_first_argument(one.value))


def _first_argument(value: ast.expr) -> ast.expr:
    """Return the text of ``return CommandReply("…")``."""
    if isinstance(value, ast.Call) and _name(value.func) == "CommandReply" and value.args:
        return value.args[0]
    return value


def _help_of_settings(model: ast.ClassDef) -> Iterator[str]:
    """Yield the docstrings below the settings of a class."""
    for setting, below in pairwise(model.body):
        if not isinstance(setting, ast.AnnAssign) or not isinstance(setting.value, ast.Call):
            continue
        is_titled = any(one.arg == "title" for one in setting.value.keywords)
        text = getattr(below.value, "value", "") if isinstance(below, ast.Expr) else ""
        if is_titled and isinstance(text, str) and text:
            yield " ".join(text.split())


def _is_slash_command(decorator: ast.expr) -> bool:
    first = decorator.args[0] if isinstance(decorator, ast.Call) and decorator.args else None
    name = first.value if isinstance(first, ast.Constant) else ""
    return isinstance(name, str) and name.startswith("/")


def _name(function: ast.AST) -> str:
    return getattr(function, "id", "") or getattr(function, "attr", "")


def _texts(value: ast.expr) -> Iterator[str]:
    """Yield the sentences that an expression may be."""
    if isinstance(value, ast.IfExp):
        yield from (*_texts(value.body), *_texts(value.orelse))
    elif isinstance(value, ast.BoolOp):
        for one in value.values:
            yield from _texts(one)
    elif isinstance(value, ast.Constant) and isinstance(value.value, str) and value.value:
        yield value.value
    elif isinstance(value, ast.JoinedStr) and list(templates([text := _template(value)])):
        yield text  # else it is nearly all values


def _template(text: ast.JoinedStr) -> str:
    """Return the sentence of an f-string; values beside each other are one value."""
    parts: list[str] = []
    names: list[str] = []
    for one in text.values:
        if isinstance(one, ast.Constant):
            parts.append(str(one.value))
        elif not parts or not parts[-1].endswith("}"):
            inside = [_name(node) for node in ast.walk(one)]
            name = next(filter(None, inside), "value").strip("_").lower()
            names.append(name if name not in names else f"{name}{len(names) + 1}")
            parts.append(f"{{{names[-1]}}}")
    return "".join(parts)


def yaml(file: Any, keywords: Any, comments: Any, options: Any) -> Iterator[Any]:
    """Extract from YAML the quoted values of the key that a comment ``# translate: KEY`` names."""
    text = file.read().decode("utf-8")
    named = re.search(r"^# translate: (\w+)$", text, re.M)
    for found in (
        re.finditer(rf"^[^#\n]*\b{named[1]}: (?:{_STRING}|(\w.*))", text, re.M) if named else ()
    ):
        sentence = found[2] or _unescape(found[1])
        yield text.count("\n", 0, found.start()) + 1, "t", sentence, []


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _method(file: Path) -> Any:
    if file.suffix == ".py":
        return python
    if file.suffix == ".html" and file.parent.name == "templates":
        from jinja2.ext import babel_extract

        return babel_extract
    if file.suffix == ".yaml":
        return yaml
    return javascript if file.suffix == ".js" and "vendor" not in file.parts else None


def find_sentences(package: Path) -> Catalog:
    """Return a catalogue of all sentences in the sources of a package.

    Raises ``ValueError`` for a sentence that is used with a number and without it: some languages
    have no form without it.
    """
    found = Catalog()
    for file in sorted(package.rglob("*")):
        if (method := _method(file)) is None:
            continue
        place = file.relative_to(package).as_posix()
        with file.open("rb") as source:
            options = {"trimmed": "true", "silent": "false"}
            for _, message, _, _ in extract(method, source, KEYWORDS, options=options):
                first = message[0] if isinstance(message, tuple) else message
                known = found.get(first)
                if known is not None and known.pluralizable != isinstance(message, tuple):
                    raise ValueError(f"{place}: {first!r} is used with tn and without it")
                found.add(message, locations=[(place, 0)])
    if summary := _summary(package):
        found.add(summary, locations=[("pyproject.toml", 0)])
    return found


def _summary(package: Path) -> str:
    """Return the summary of a distribution, for its own package; it has no catalogue elsewhere."""
    for folder in package.parents[:2]:
        if (file := folder / "pyproject.toml").is_file():
            project = tomllib.loads(file.read_text("utf-8")).get("project", {})
            is_own = str(project.get("name")).replace("-", "_") == package.name
            is_own = is_own and "hookline.plugins" in project.get("entry-points", {})
            summary = SUMMARY.sub("", str(project.get("description", "")))
            return summary[:1].upper() + summary[1:] if is_own else ""
    return ""


def catalogues(package: Path) -> Iterator[tuple[str, Path]]:
    """Yield the language and file of each catalogue of a package."""
    for file in sorted(package.glob("locale/*/messages.po")):
        yield file.parent.name, file


def read(file: Path, code: str) -> Catalog:
    """Read a catalogue; one that does not exist is empty."""
    if not file.exists():
        return Catalog(locale=code)
    with file.open("rb") as opened:
        return read_po(opened, locale=code)


def written(catalogue: Catalog, code: str) -> str:
    """Return the text of a catalogue's file."""
    from io import BytesIO

    body = BytesIO()
    write_po(
        *(body, catalogue), width=WIDTH, omit_header=True, ignore_obsolete=True,
        sort_by_file=True, include_lineno=False,
    )  # fmt: skip
    plural = get_plural(Locale.parse(code))
    header = (f"Language: {code}", "Content-Type: text/plain; charset=utf-8")
    lines = [*header, f"Plural-Forms: {plural.plural_forms}"]
    quoted = "".join(f'"{line}\\n"\n' for line in lines)
    return f'msgid ""\nmsgstr ""\n{quoted}\n{body.getvalue().decode("utf-8").strip()}\n'


def updated(package: Path, code: str, file: Path) -> str:
    """Return a catalogue's file with the sentences that the sources have now."""
    catalogue = read(file, code)
    catalogue.update(find_sentences(package), no_fuzzy_matching=True)
    return written(catalogue, code)


def faults(package: Path, languages: Iterable[str] = ()) -> Iterator[str]:
    """Yield what is wrong with the catalogues of a package; there is to be one per language."""
    sentences = find_sentences(package)
    missing = set(languages) - {code for code, _ in catalogues(package)}
    if any(message.id for message in sentences):
        yield from (f"{package.name}/locale/{code}: missing" for code in sorted(missing))
    for code, file in catalogues(package):
        catalogue = read(file, code)
        place = f"{package.name}/locale/{code}"
        for message in sentences:
            if message.id:
                stored = catalogue.get(_key(message))
                yield from (f"{place}: {fault}" for fault in _faults(message, stored))
        for message in catalogue:
            if message.id and sentences.get(_key(message)) is None:
                yield f"{place}: no longer used: {_key(message)!r}"


def _key(message: Any) -> str:
    return str(message.id[0] if isinstance(message.id, tuple) else message.id)


def _faults(message: Any, stored: Any) -> Iterator[str]:
    """Yield what is wrong with the translation of one sentence."""
    key = _key(message)
    forms = () if stored is None else stored.string
    forms = forms if isinstance(forms, tuple) else (forms,)
    if not forms or not all(forms):
        yield f"not translated: {key!r}"
        return
    sentences = message.id if isinstance(message.id, tuple) else (message.id,)
    expected = placeholders(sentences[-1])
    for form in forms:
        if placeholders(form) != expected and not (len(forms) > 1 and form == forms[0]):
            yield f"other placeholders than {key!r}: {form!r}"


def placeholders(sentence: str) -> set[str]:
    """Return the names in braces of a sentence."""
    try:
        return {name for _, name, _, _ in Formatter().parse(sentence) if name is not None}
    except ValueError:
        return set()


def main(arguments: Iterable[str] | None = None) -> int:
    """Update the catalogues, or with ``--check`` report what is missing."""
    summary = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser("python -m hookline_webkit.translations", description=summary)
    parser.add_argument("packages", nargs="+", type=Path, help="folders of packages")
    parser.add_argument("--add", metavar="LANGUAGE", help="such as fr or pt_BR")
    parser.add_argument("--check", action="store_true", help="change nothing; report faults")
    given = parser.parse_args(list(arguments) if arguments is not None else None)
    found = []
    for package in given.packages:
        if given.check:
            found += list(faults(package))
            continue
        targets = dict(catalogues(package))
        if given.add and len(find_sentences(package)):
            code = str(Locale.parse(given.add))
            targets[code] = package / "locale" / code / "messages.po"
        for code, file in targets.items():
            text = updated(package, code, file)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
    sys.stdout.writelines(f"{one}\n" for one in found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
