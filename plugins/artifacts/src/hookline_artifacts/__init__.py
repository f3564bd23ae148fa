"""Hookline plugin ``artifacts``: a long result is shown in part and kept whole.

Reached by the entry point ``hookline_artifacts:Artifacts``; it implements the hook ``post_tool``,
brings the tool ``fetch_artifact`` and deletes what has expired.
"""

from .config import ArtifactsConfig
from .plugin import Artifacts

__all__ = ["Artifacts", "ArtifactsConfig"]
