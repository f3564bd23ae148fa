"""``docs/roles.md`` shows the role table that ``access`` reads."""

from __future__ import annotations

from hookline_access.roles import role_table
from meta.tree import ROOT


def test_roles_page_shows_the_role_table() -> None:
    page = (ROOT / "docs" / "roles.md").read_text("utf-8")
    found = role_table()
    roles = [*found.roles]
    lines = [
        " | ".join(["| " + action.what, *("✓" if role in action.may else "" for role in roles)])
        for action in found.actions.values()
    ]
    shown = page.partition("<!-- roles.yaml, actions -->\n")[2].partition("<!-- end -->")[0]
    assert shown.splitlines()[2:] == [line.replace("|  |", "|  |") + " |" for line in lines]
    for role, who in found.roles.items():
        assert f"| {role} | {who} |" in page


def test_roles_page_names_the_commands_of_each_role() -> None:
    page = (ROOT / "docs" / "roles.md").read_text("utf-8")
    for role in ("admin", "auditor"):
        (line,) = [one for one in page.splitlines() if one.startswith(f"| {role} | `audit`")]
        named = [one.strip(" `") for one in line.split("|")[2].split(",")]
        assert sorted(named) == role_table().commands_of(role)
