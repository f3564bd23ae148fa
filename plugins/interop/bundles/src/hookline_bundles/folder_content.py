"""What the bundles of a folder hold, as the person trusts it.

The record that is kept with the trust says later which files changed, and what the guards were for.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hookline_hookspecs.folder_trust import FolderContent

from .bundle import Bundle, BundleHook, InvalidBundle
from .capabilities import describe
from .changes import describe_changes
from .content_hash import file_hashes
from .folder_names import HASHED_FOLDERS, TRUST_KIND
from .named_files import named_files, pin
from .servers import plugin_variables
from .standing_guards import Guard, as_rows, from_rows, guards_of


@dataclass(frozen=True, slots=True)
class FolderRecord:
    """What a folder held when it was trusted.

    Attributes:
        lines: what was shown to the person.
        files: the hash of every file that counted, by its path in the folder.
        guards: what the guards of each bundle were for.
    """

    lines: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    guards: Mapping[str, tuple[Guard, ...]] = field(default_factory=dict)

    def dump(self) -> str:
        """Return it as JSON."""
        rows = {name: as_rows(guards) for name, guards in self.guards.items()}
        return json.dumps({"lines": self.lines, "files": self.files, "guards": rows})


def read_record(content: FolderContent) -> FolderRecord:
    """Return the record of trusted content; an empty one if it cannot be read."""
    try:
        data = json.loads(content.record)
        guards = {name: from_rows(rows) for name, rows in data["guards"].items()}
        return FolderRecord(tuple(data["lines"]), data["files"], guards)
    except (ValueError, KeyError, TypeError, AttributeError):
        return FolderRecord()


def folder_content(
    folder: Path, bundles: Sequence[Bundle], before: FolderContent | None, now: float
) -> FolderContent | None:
    """Return what the person decides about; None if there is nothing, and was nothing.

    Args:
        before: what the folder is trusted with. If that differs, the lines say how.
    """
    digests: dict[str, object] = {}
    lines: list[str] = []
    files: dict[str, str] = {}
    for bundle in bundles:
        pinned = pin_hooks(bundle, folder)
        own = _files(bundle, now)
        digests[bundle.name] = [[_as_row(hook) for hook in pinned.hooks], sorted(own.items())]
        lines += [f"{bundle.root}:", *(f"  {line}" for line in describe(bundle))]
        files |= {_in_folder(folder, bundle.root / path): own[path] for path in own}
        files |= {
            _in_folder(folder, Path(path)): digest
            for hook in pinned.hooks
            for path, digest in hook.files
        }
    text = json.dumps(digests, sort_keys=True)
    digest = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
    guards = {bundle.name: guards_of(bundle.hooks) for bundle in bundles}
    record = FolderRecord(tuple(lines), files, guards)
    known = read_record(before) if before is not None else FolderRecord()
    if not bundles and not known.lines:
        return None
    if before is not None and before.digest != digest:
        changes = describe_changes((known.lines, known.files), (lines, files))
        lines += ["since you trusted it:", *(f"  {line}" for line in changes)]
    return FolderContent(TRUST_KIND, digest, tuple(lines), record.dump())


def pin_hooks(bundle: Bundle, project: Path) -> Bundle:
    """Note the hashes of the files that the hooks' commands name."""
    variables = plugin_variables(bundle.root, bundle.data) | {"CLAUDE_PROJECT_DIR": str(project)}
    hooks = []
    for hook in bundle.hooks:
        files = named_files([hook.command, *(hook.args or ())], project, variables)
        hooks.append(replace(hook, files=pin(files)))
    return replace(bundle, hooks=tuple(hooks))


def _files(bundle: Bundle, now: float) -> dict[str, str]:
    """Return the hashes of the files that count, by their path in the bundle."""
    try:
        if bundle.format != "folder":
            return file_hashes(bundle.root)
        folders = [bundle.root / name for name in HASHED_FOLDERS]
        return {
            f"{one.name}/{path}": digest
            for one in folders
            if one.is_dir()
            for path, digest in file_hashes(one).items()
        }
    except InvalidBundle as error:
        # It cannot be pinned, so it is never the same.
        return {"": f"{error} {now}"}


def _in_folder(folder: Path, path: Path) -> str:
    return str(path.relative_to(folder) if path.is_relative_to(folder) else path)


def _as_row(hook: BundleHook) -> list[object]:
    return [hook.event, hook.matcher, hook.condition, hook.shown, hook.timeout, hook.files]
