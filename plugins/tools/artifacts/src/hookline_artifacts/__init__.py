"""Hookline plugin ``artifacts``: shows a part of a long result and stores all of it.

Reached by the entry point ``hookline_artifacts:Artifacts``; it implements the hook ``post_tool``,
registers the tool ``fetch_artifact`` and deletes expired texts.
"""

from .config import ArtifactsConfig
from .plugin import Artifacts

__all__ = ["Artifacts", "ArtifactsConfig"]
