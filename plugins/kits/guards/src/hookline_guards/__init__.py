"""The guarded services that core offers to plugins: ``host.http``, ``host.paths``, ``ctx.paths``.

Core makes them through the entry points ``http`` and ``paths`` of the group ``hookline.services``.
Nothing heavy is imported here.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .net import GuardedHttp
    from .paths import PathGuard


def make_http(
    *,
    block_private: bool,
    allow_hosts: Sequence[str],
    block_hosts: Sequence[str],
    chat: Callable[[], str] = str,
) -> "GuardedHttp":
    """The client for one process, from the config section ``network``.

    ``chat`` names the chat that the running task works for.
    """
    from .net import GuardedHttp, NetworkPolicy

    policy = NetworkPolicy(block_private, allow_hosts, block_hosts)
    return GuardedHttp(policy, chat=chat)


def make_paths(workspace: Path, *, allowed_roots: Sequence[str], home: Path) -> "PathGuard":
    """The guard of one workspace, from the config section ``paths``."""
    from .paths import PathGuard

    return PathGuard(workspace, [Path(root) for root in allowed_roots], home)
