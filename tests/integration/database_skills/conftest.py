"""Databases with known problems, and a model that follows the skills."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hookline.testing import Harness
from support.databases.skill_model import SkillHome


@pytest.fixture
def skill_home(harness: Callable[..., Harness]) -> Callable[[str], SkillHome]:
    """``skill_home(url)`` is a home whose model knows the database ``prod``."""
    return lambda url: SkillHome(harness, url)
