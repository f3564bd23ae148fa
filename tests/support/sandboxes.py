"""What the sandbox of this machine supports."""

from __future__ import annotations

import pytest
from hookline_sandbox import Method, found


def skip_unless_git_can_write() -> None:
    """Skip the test where a program in the sandbox cannot change a repository's index.

    Landlock can only grant a folder with all that is in it. To keep ``.git/config`` and
    ``.git/hooks`` as they are it cannot grant ``.git``, where git makes ``index.lock``.
    """
    if found().method is Method.LANDLOCK:
        pytest.skip("under Landlock git cannot write .git/index.lock; needs bubblewrap")
