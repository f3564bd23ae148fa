"""A provider that plays a script from a file: no network, no key, the same answers every time.

Chosen by ``--model scripted/PATH.yaml``. :mod:`.script` reads the file, :mod:`.wire` renders
requests, :mod:`.playback` picks the step and :mod:`.provider` puts them together.
"""

from .provider import ScriptedProvider

__all__ = ["ScriptedProvider"]
