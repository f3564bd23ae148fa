"""The judge of shell commands: parsed, expanded and judged act by act, without running anything.

:class:`Judge` is the way in. Beneath it, from the top down: ``machine`` walks a script as a shell
would and follows what flows through it; ``commands`` judges one command, ``builtin``, ``wrappers``
and ``variables`` what runs others; ``code`` reads programs given on a command line; ``acts`` and
``deeds`` know what is dangerous; ``places`` knows paths and addresses; ``shell`` holds what all of
them know of the shell they are in; ``words`` unquotes and ``syntax`` parses. What is dangerous
stands in ``data/*.yaml``.
"""

from .court import Judge

__all__ = ["Judge"]
