"""The judge of shell commands: parsed, expanded and judged act by act, without running anything.

:class:`Judge` is the way in: a command's effects, and the verdict that follows from them in a
:class:`Setting`. Beneath it, from the top down: ``machine`` walks a script as a shell would and
follows what flows through it; ``commands`` judges one command, ``builtin``, ``wrappers`` and
``variables`` what runs others, ``loads`` the files it takes orders from; ``code`` reads programs
given on a command line, ``reach`` what they reach and ``statements`` what they do to databases;
``acts``, ``deeds``, ``uploads`` and ``files`` know what a call does; ``places`` knows paths and
addresses; ``shell`` holds what all of them know of the shell they are in; ``words`` unquotes and
``syntax`` parses. What programs do stands in ``data/*.yaml``.
"""

from .verdict import Judge, Setting

__all__ = ["Judge", "Setting"]
