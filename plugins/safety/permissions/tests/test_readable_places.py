"""Reading outside the workspace with the tools for files, where a rule allows it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from hookline.testing import Harness, calls
from hookline_hookspecs import Context, Plugin, tool
from hookline_permissions import Permissions

MakeHarness = Callable[..., Harness]


class Files(Plugin):
    """Reads and writes through the path guard, in a thread as the real tools do."""

    @tool(read_only=True)
    def read_file(self, ctx: Context, path: str) -> str:
        """Read."""
        with ctx.paths.open_read(ctx.paths.resolve(path)) as file:
            return file.read().decode()

    @tool
    def write_file(self, ctx: Context, path: str, content: str = "") -> str:
        """Write."""
        real = ctx.paths.resolve(path)
        return "read only" if ctx.paths.write_refusal(real) else "written"


def results(h: Harness, *steps: Any) -> list[str]:
    h.model.steps += [*steps, "done"]
    return [result.text for result in h.send("go").tool_calls]


def test_allow_rule_opens_its_files_for_reading_alone(harness: MakeHarness, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for name in ("a.md", ".env", "link"):
        (notes / name).write_text(name) if name != "link" else None
    (tmp_path / "other.md").write_text("other")
    (notes / "link").symlink_to(tmp_path / "other.md")
    config = {"permissions": {"allow": [f"read_file({notes}/**)", f"write_file({notes}/**)"]}}
    h = harness(Permissions, Files, config=config)
    read, secret, linked, other, written = results(
        h,
        calls("read_file", path=f"{notes}/a.md"),
        calls("read_file", path=f"{notes}/.env"),
        calls("read_file", path=f"{notes}/link"),
        calls("read_file", path=str(tmp_path / "other.md")),
        calls("write_file", path=f"{notes}/a.md"),
    )
    assert read == "a.md"
    assert "is off limits" in secret
    assert [text.startswith("Denied: ") for text in (linked, other, written)] == [True] * 3


def test_parts_of_the_system_can_be_read(harness: MakeHarness) -> None:
    h = harness(Permissions, Files)
    hosts, passwords, own = results(
        h,
        calls("read_file", path="/etc/hosts"),
        calls("read_file", path="/etc/shadow"),
        calls("read_file", path=f"{h.home}/config.yaml"),
    )
    assert hosts == Path("/etc/hosts").read_text()
    assert passwords.startswith("Denied: ")
    assert own.startswith("Denied: ")


def test_deny_rule_closes_a_part_of_the_system(harness: MakeHarness) -> None:
    h = harness(Permissions, Files, config={"permissions": {"deny": ["read_file(/etc/**)"]}})
    assert results(h, calls("read_file", path="/etc/hosts"))[0].startswith("Denied: the rule")
