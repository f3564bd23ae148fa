"""Makes the table of public bundles in ``docs/bundles.md``.

``python docs/_gen/public_bundles.py FOLDER`` loads each of them with ``hookline bundles add`` from
the commit that is noted here, and prints the table. FOLDER holds the repositories as bare clones in
``OWNER+REPOSITORY/repo``, or as ``OWNER+REPOSITORY.git``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hookline.testing import Harness
from hookline_bundles import Bundles

KINDS = ("skills", "commands", "agents", "hooks", "servers")
FORMATS = {
    "agent-plugins": "Agent Plugins",
    "claude": "Claude Code",
    "open-plugin": "Open Plugins",
    "cursor": "Cursor",
    "codex": "Codex",
}


@dataclass(frozen=True, slots=True)
class PublicBundle:
    """A bundle: its repository and commit, its name there if there are several."""

    repository: str
    commit: str
    only: str = ""


BUNDLES = (
    PublicBundle("1Password/cursor-plugin", "c882fc9e5aa732575b6248aa11cbde0967b847e4"),
    PublicBundle("21st-dev/codex-plugin", "df9d8c7a5c64cdf7e107e336fa8c129ede02ca20"),
    PublicBundle("Abloatai/decks-plugin", "8a0f458c08ce86d5773d5a0fc93dfd3daab1362a", "ablo-decks"),
    PublicBundle("checkly/checkly-plugin", "d5c9d11ad9b0fffa23be360daa00a1bf6e8b72da", "checkly"),
    PublicBundle(
        "anthropics/claude-plugins-official",
        "340e33aef211d95769d252324854497af871dafe",
        "code-review",
    ),
    PublicBundle(
        "datum-cloud/claude-code-plugins",
        "51b9edf07216410324bd0e391959cdb60f40c9d0",
        "datum-platform",
    ),
    PublicBundle(
        "edgedelta/claude-code-plugins",
        "d5734135eb8ee6ed0ee37d8891bc4e5f1507ff8d",
        "edgedelta-ottl",
    ),
    PublicBundle(
        "schuettc/claude-code-plugins",
        "ac3215ff7e9935b40cee87d85b1404296a2a7e87",
        "feature-workflow",
    ),
    PublicBundle(
        "marat-ak/PublicAgentPlugins", "1ee52044fd3e0a3bf8718a98290b332c196ee276", "fusion-sql"
    ),
    PublicBundle("motlin/claude-code-plugins", "fe6d897eb4f2bac050adc6d61f02aec547d79203", "git"),
    PublicBundle(
        "0999312/GodotPrompter", "feaef5b100aac71e735ee27f002d87b8a3ba191a", "godot-prompter"
    ),
    PublicBundle("charlyautomatiza/grafana-k6-plugin", "88c4276114bc8ef71c8459579ec57c4798883877"),
    PublicBundle(
        "anthropics/claude-plugins-official", "340e33aef211d95769d252324854497af871dafe", "hookify"
    ),
    PublicBundle(
        "langchain-ai/langsmith-claude-code-plugins",
        "98debbc0c16bb6b181c06a64bca0b0b1b60e63ea",
        "langsmith-tracing",
    ),
    PublicBundle("ATUL-Labs/lex", "3e3ec69fb0d41ca309a23272b1d8d52efdde47c0", "lex"),
    PublicBundle(
        "fprochazka/claude-code-plugins",
        "6c7e1162b7ef07d21e5f8f8de9a9464775748c08",
        "no-background-tasks",
    ),
    PublicBundle(
        "mwguerra/claude-code-plugins", "965b237b341068ac9c8706e0fda68e7c326d448e", "prd-builder"
    ),
    PublicBundle("charlie947/show-me", "69e488e301e8d6f43b8ddc883cb2392b1dd45264", "show-me"),
    PublicBundle("Aboudjem/sniff", "41970aac4d6c37283443191bdd2703b66aa2c73c"),
    PublicBundle("obra/superpowers", "44c9b2d6e889982ac18c27d05a19fefe335194e1", "superpowers"),
    PublicBundle("codewandler/agentplugins", "43a62b90cd868da4d0bcbfa2f01a36f08c5c8ec4", "track"),
)


def main() -> None:
    """Print the table."""
    clones = Path(sys.argv[1])
    head = ("bundle", "commit", "format", *KINDS, "loaded")
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [_row(bundle, _loaded(bundle, clones)) for bundle in BUNDLES]
    sys.stdout.write("\n".join([*lines, ""]))


def _loaded(bundle: PublicBundle, clones: Path) -> dict[str, Any]:
    """Return what ``hookline bundles info --json`` says."""
    stem = bundle.repository.replace("/", "+")
    clone = next(one for one in (clones / stem / "repo", clones / f"{stem}.git") if one.is_dir())
    with tempfile.TemporaryDirectory() as folder:
        archive, source = Path(folder, "source.tar"), Path(folder, bundle.repository.split("/")[1])
        export = ["git", "-C", str(clone), "archive", f"--output={archive}", bundle.commit]
        subprocess.run(export, check=True)
        source.mkdir()
        subprocess.run(["tar", "-xf", str(archive), "-C", str(source)], check=True)
        harness = Harness(Bundles, home=Path(folder, "home"))
        only = f" --only {bundle.only}" if bundle.only else ""
        done = harness.cli(f"bundles add {source}{only} --yes")
        if done.exit_code:
            raise SystemExit(f"{bundle.repository}: {done.stderr}")
        (row,) = json.loads(harness.cli("bundles list --json").stdout)
        harness.close()
    found: dict[str, Any] = row
    return found


def _row(bundle: PublicBundle, row: dict[str, Any]) -> str:
    counts = [str(len(row["parts"][kind]) or "") for kind in KINDS]
    problems = [
        one.split(": ", 1)[-1].removeprefix("Hookline has ").replace("fields", "fields of agents")
        for one in row["problems"]
    ]
    loaded = f"partly: {'; '.join(dict.fromkeys(problems))}" if problems else "all"
    name = f"`{bundle.repository}`: {row['name']}"
    cells = [name, f"`{bundle.commit[:10]}`", FORMATS[row["format"]], *counts, loaded]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
