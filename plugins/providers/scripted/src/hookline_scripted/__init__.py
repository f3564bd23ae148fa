"""A provider that plays a written scenario: no network, no key, the same words every time.

Chosen by ``--model scripted/PATH.yaml``. :mod:`.script` reads the file, :mod:`.wire` renders
requests, :mod:`.play` picks the step and :mod:`.provider` puts them together.
"""

from .provider import ScriptedProvider

__all__ = ["ScriptedProvider"]
