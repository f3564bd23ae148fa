"""The judge of shell commands: parsed, expanded and judged act by act, without running anything.

:class:`Judge` is the way in. Beneath it, from the top down: ``machine`` walks a script as a shell
would and follows what flows through it; ``words`` unquotes; ``syntax`` parses; ``acts`` and
``deeds`` know what is dangerous; ``code`` reads programs given on a command line; ``places`` knows
paths and addresses. What is dangerous stands in ``data/*.yaml``.
"""

from .court import Judge

__all__ = ["Judge"]
