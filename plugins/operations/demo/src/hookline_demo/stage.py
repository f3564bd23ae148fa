"""The temporary folder of a story: a home, a copy of the sample project, and the recorded words."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

SAMPLE_SUFFIX = ".txt"
"""The ending of packaged sample files, so that tools do not treat them as this package's code."""
_SECRET = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS|_BASE_URL)\Z", re.IGNORECASE)
_PASSED_ON = re.compile(r"HOOKLINE_(PLUGINS__.*|STRICT)\Z")
_DROPPED = ("FORCE_COLOR", "PYTHON_COLORS")


@dataclass(frozen=True)
class Stage:
    """One story's folder.

    ``sample`` maps relative paths (``shop/basket.py``) to packaged texts; ``model`` is a real model
    (``provider/model``) instead of the recorded words; ``may_open`` is whether a browser may be
    opened.
    """

    folder: Path
    sample: Mapping[str, str]
    model: str | None = None
    may_open: bool = False

    @classmethod
    def set_up(cls, story: str, model: str | None = None, *, may_open: bool = False) -> Stage:
        """Create a private temporary folder and copy the story's data into it.

        A story without a project uses another's: ``team`` that of ``learning``, the
        others that of ``fix``.
        """
        data = files(__package__) / "stories" / story
        project = data / "project"
        if not project.is_dir():
            other = "learning" if story == "team" else "fix"
            project = files(__package__) / "stories" / other / "project"
        folder = Path(tempfile.mkdtemp(prefix="hookline-demo-")).resolve()
        sample = dict(_texts(project))
        stage = cls(folder, sample, model, may_open)
        try:
            stage.home.mkdir(mode=0o700)
            stage.words.write_bytes((data / "words.yaml").read_bytes())
            for name, text in sample.items():
                file = stage.project / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, "utf-8")
        except BaseException:
            stage.remove()
            raise
        return stage

    @property
    def home(self) -> Path:
        """The Hookline home of the story. The person's own home is not used."""
        return self.folder / "home"

    @property
    def project(self) -> Path:
        """The copy of the sample project, which is the workspace."""
        return self.folder / "project"

    @property
    def words(self) -> Path:
        """The model's words: a scenario of the provider ``scripted``."""
        return self.folder / "words.yaml"

    @property
    def log(self) -> Path:
        """The run's stderr."""
        return self.folder / "stderr.txt"

    def environment(self) -> dict[str, str]:
        """The environment of the story's processes: without API keys, except for a real model, and
        without the settings of the reader's home. Of ``HOOKLINE_…`` only the variables for plugins
        and strictness are passed on, because others may name the reader's workspace or database.
        The interpreter's folder comes first on PATH, so that ``python3`` is there without an
        activated environment.
        """
        kept = {
            name: value
            for name, value in os.environ.items()
            if (self.model or not _SECRET.search(name)) and name not in _DROPPED
            if not name.startswith("HOOKLINE_") or _PASSED_ON.match(name)
        }
        path = os.pathsep.join([str(Path(sys.executable).parent), kept.get("PATH", os.defpath)])
        return kept | {
            "HOOKLINE_HOME": str(self.home),
            "PATH": path,
            "NO_COLOR": "1",
            "PYTHONUTF8": "1",
            # A module that changes within a second of being compiled would be loaded from its old
            # .pyc.
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def remove(self) -> None:
        """Remove the folder; print a message on stderr if that fails."""
        try:
            shutil.rmtree(self.folder)
        except OSError as error:
            sys.stderr.write(f"hookline: {self.folder} could not be removed: {error}\n")


def _texts(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Relative path and text of each sample file below a folder, sorted."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _texts(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(SAMPLE_SUFFIX):
            yield prefix + entry.name.removesuffix(SAMPLE_SUFFIX), entry.read_text("utf-8")
