"""Vectors as they are stored and compared: 8-bit integers with a factor, all looked at each time.

How alike two texts are is the cosine of their vectors, normalised by what each of the two has in
common with sentences about nothing in particular (symmetric score normalisation: Auckenthaler,
Carey and Lloyd-Thomas, "Score Normalization for Text-Independent Speaker Verification Systems",
2000, and Kenny, "Bayesian Speaker Verification with Heavy-Tailed Priors", 2010). So one threshold
means about the same with every model. Imports numpy.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
CHUNK = 8_192
"""Rows that are turned into floats at a time."""
LEAST_SPREAD = 1e-3
"""Below it, a deviation is taken for this, so that nothing is divided by nothing."""


def packed(vector: Floats) -> bytes:
    """A vector of length 1 as bytes: a factor (float32) and an int8 for each dimension."""
    length = float(np.linalg.norm(vector))
    unit = vector / length if length else vector
    top = float(np.abs(unit).max()) or 1.0
    whole = np.rint(unit * (127.0 / top)).astype(np.int8)
    return struct.pack("<f", top / 127.0) + bytes(whole.tobytes())


def unpacked(blob: bytes) -> Floats:
    """What :func:`packed` was given, about."""
    (factor,) = struct.unpack_from("<f", blob)
    return np.frombuffer(blob, np.int8, offset=4).astype(np.float32) * np.float32(factor)


def unit(vector: Floats) -> Floats:
    """The vector with length 1."""
    length = np.linalg.norm(vector)
    found: Floats = vector / length if length else vector
    return found


@cache
def cohort() -> tuple[str, ...]:
    """Sentences about nothing in particular."""
    text = files(__package__).joinpath("cohort.txt").read_text("utf-8")
    return tuple(line for line in text.splitlines() if line and not line.startswith("#"))


class Matrix:
    """The vectors of one corpus in memory, compared with a question's."""

    def __init__(self, cohort: Floats) -> None:
        """``cohort``: the vectors of :func:`cohort`, of length 1."""
        self._cohort = cohort
        self.size = cohort.shape[1]
        """Dimensions."""
        self._keys: list[str] = []
        self._scopes: dict[str, int] = {}
        self._rows = np.empty((0, self.size), np.int8)
        self._numbers = np.empty((4, 0), np.float32)  # factor, mean, deviation, scope
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, found: Iterable[tuple[str, str, bytes]]) -> None:
        """Add keys, scopes and packed vectors; those of another length are left out."""
        fitting = [one for one in found if len(one[2]) == self.size + 4]
        if not fitting:
            return
        self._make_room(len(fitting))
        at = slice(self._count, self._count + len(fitting))
        blobs = b"".join(blob[4:] for _, _, blob in fitting)
        self._rows[at] = np.frombuffer(blobs, np.int8).reshape(len(fitting), self.size)
        factors = np.array([struct.unpack_from("<f", blob)[0] for _, _, blob in fitting])
        common = (self._rows[at].astype(np.float32) * factors[:, None]) @ self._cohort.T
        spread = np.maximum(common.std(axis=1), LEAST_SPREAD)
        scopes = [self._scopes.setdefault(scope, len(self._scopes)) for _, scope, _ in fitting]
        self._numbers[:, at] = (factors, common.mean(axis=1), spread, scopes)
        self._keys += [key for key, _, _ in fitting]
        self._count += len(fitting)

    def _make_room(self, more: int) -> None:
        room = len(self._rows)
        if self._count + more <= room:
            return
        larger = max(self._count + more, room * 3 // 2)
        rows = np.empty((larger, self.size), np.int8)
        numbers = np.empty((4, larger), np.float32)
        rows[: self._count] = self._rows[: self._count]
        numbers[:, : self._count] = self._numbers[:, : self._count]
        self._rows, self._numbers = rows, numbers

    def nearest(self, vector: Floats, scope: str | None, limit: int) -> list[tuple[str, float]]:
        """The keys most like a vector of length 1, with how far above unrelated texts they are,
        in standard deviations; best first."""
        if len(vector) != self.size or not self._count:
            return []
        at: slice | NDArray[np.intp] = slice(0, self._count)
        if scope is not None:
            code = self._scopes.get(scope, -1)
            at = np.flatnonzero(self._numbers[3, : self._count] == code)
            if not len(at):
                return []
        rows, numbers = self._rows[at], self._numbers[:, at]
        alike = np.empty(len(rows), np.float32)
        for start in range(0, len(rows), CHUNK):
            part = slice(start, start + CHUNK)
            alike[part] = rows[part].astype(np.float32) @ vector * numbers[0, part]
        common = self._cohort @ vector
        mean, spread = float(common.mean()), max(float(common.std()), LEAST_SPREAD)
        score = ((alike - mean) / spread + (alike - numbers[1]) / numbers[2]) / 2
        best = np.arange(len(score))
        if limit < len(score):
            best = np.argpartition(-score, limit)[:limit]
        best = best[np.argsort(-score[best], kind="stable")]
        places = best if isinstance(at, slice) else at[best]
        return [
            (self._keys[place], float(score[one])) for place, one in zip(places, best, strict=True)
        ]


def units(vectors: Sequence[Floats] | Floats) -> Floats:
    """Each row with length 1."""
    return np.stack([unit(one) for one in vectors])
