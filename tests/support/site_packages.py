"""A folder on Python's path that holds tiny dists, created without an installer."""

from __future__ import annotations

from pathlib import Path

PLUGIN = """
from hookline_hookspecs import Plugin, tool
from hookline_hookspecs.plugin import NoConfig

class One(Plugin[NoConfig]):
    @tool
    def {tool}(self) -> str:
        "Do something."
        return "done"
"""


class Site:
    """Put ``path`` on ``PYTHONPATH`` and its dists are installed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()

    def dist(self, name: str, entry: str, body: str | None = None) -> None:
        """A dist ``dist-NAME`` whose module ``dist_NAME`` has the class of plugin ``entry``.

        Args:
            name: of the dist; an identifier.
            entry: the plugin's name.
            body: the module's source, with a class ``One``; a healthy plugin with the tool
                ``NAME_tool`` if left out.
        """
        module = f"dist_{name}"
        text = PLUGIN.format(tool=f"{name}_tool") if body is None else body
        (self.path / f"{module}.py").write_text(text, "utf-8")
        self.metadata(name, f"[hookline.plugins]\n{entry} = {module}:One\n".encode())

    def metadata(self, name: str, entry_points: bytes) -> None:
        """Only what tells of a dist ``dist-NAME``: its name and its ``entry_points.txt``."""
        info = self.path / f"dist_{name}-1.0.dist-info"
        info.mkdir()
        info.joinpath("METADATA").write_text(
            f"Metadata-Version: 2.1\nName: dist-{name}\nVersion: 1.0\n", "utf-8"
        )
        info.joinpath("entry_points.txt").write_bytes(entry_points)
