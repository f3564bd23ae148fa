"""Which skills match a message: by their words and, where available, by their meaning."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from hookline_hookspecs import Host, SemanticIndex, fuse

from .config import SkillsConfig
from .library import Skill, SkillLibrary

MIN_SHARE_OF_BEST = 0.5
"""The share of the best score that every other match must reach."""
STANDOUT_THRESHOLD_SHARE = 0.65
"""A skill that stands out matches from this share of the threshold."""
MAX_RIVAL_SHARE = 0.75
"""The best skill stands out if no other has more than this share of its score."""


class SkillMatcher:
    """Chooses the skills that are added to a message."""

    def __init__(self, host: Host, config: SkillsConfig, library: SkillLibrary) -> None:
        self._host = host
        self._config = config
        self._library = library

    async def match(self, text: str) -> list[Skill]:
        """Return the skills that match ``text``, best first, at most ``matches`` of the config."""
        limit = self._config.matches
        if not limit:
            return []
        found = await asyncio.to_thread(self._library.match, text, max(limit, 2))
        threshold = match_threshold([score for _, score in found], self._config.threshold)
        by_words = [skill for skill, score in found[:limit] if score >= threshold]
        semantic = self._host.services.get(SemanticIndex)
        if semantic is None:
            return by_words
        near = await semantic.nearest(self._library.name, text, limit=limit)
        by_meaning = [name for name, similarity in near.items() if similarity >= 1]
        skills = {skill.name: skill for skill in by_words}
        if any(name not in skills for name in by_meaning):
            skills = await asyncio.to_thread(self._library.skills) | skills
        names = fuse([skill.name for skill in by_words], by_meaning)
        return [skills[name] for name in names if name in skills][:limit]


def match_threshold(scores: Sequence[float], threshold: float) -> float:
    """Return the score from which skills match, given all ``scores``, best first.

    Words that no skill has lower every score. If one skill stands out, it may match below the
    configured threshold.
    """
    if not scores:
        return threshold
    best, rival = scores[0], max(scores[1:], default=0.0)
    stands_out = rival <= best * MAX_RIVAL_SHARE
    if threshold * STANDOUT_THRESHOLD_SHARE <= best < threshold and stands_out:
        return best
    return max(threshold, best * MIN_SHARE_OF_BEST)
