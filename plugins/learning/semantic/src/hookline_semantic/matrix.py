"""Vectors as stored and compared: 8-bit integers with a factor; a search compares all of them.

The similarity of two texts is the cosine of their vectors, normalized by the cosines of each with
unrelated sentences (symmetric score normalisation: Auckenthaler,
Carey and Lloyd-Thomas, "Score Normalization for Text-Independent Speaker Verification Systems",
2000, and Kenny, "Bayesian Speaker Verification with Heavy-Tailed Priors", 2010), so that one
threshold means about the same with every model. Imports numpy.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
CHUNK_ROWS = 8_192
"""Rows that are converted to floats at a time."""
MIN_DEVIATION = 1e-3
"""Lower bound of standard deviations, to avoid division by zero."""


def pack(vector: Floats) -> bytes:
    """Return a vector, normalized, as bytes: a factor (float32) and an int8 for each dimension."""
    length = float(np.linalg.norm(vector))
    unit = vector / length if length else vector
    top = float(np.abs(unit).max()) or 1.0
    whole = np.rint(unit * (127.0 / top)).astype(np.int8)
    return struct.pack("<f", top / 127.0) + bytes(whole.tobytes())


def unpack(blob: bytes) -> Floats:
    """Return the vector that was packed, rounded to 8 bits."""
    (factor,) = struct.unpack_from("<f", blob)
    return np.frombuffer(blob, np.int8, offset=4).astype(np.float32) * np.float32(factor)


def unit(vector: Floats) -> Floats:
    """Return the vector with length 1."""
    length = np.linalg.norm(vector)
    found: Floats = vector / length if length else vector
    return found


@cache
def cohort() -> tuple[str, ...]:
    """Return the reference sentences: about nothing in particular, in many languages."""
    text = files(__package__).joinpath("cohort.txt").read_text("utf-8")
    return tuple(line for line in text.splitlines() if line and not line.startswith("#"))


class VectorMatrix:
    """The vectors of one corpus in memory."""

    def __init__(self, cohort: Floats) -> None:
        """``cohort``: the normalized vectors of :func:`cohort`."""
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
        """Add keys, scopes and packed vectors; vectors of another size are skipped."""
        fitting = [one for one in found if len(one[2]) == self.size + 4]
        if not fitting:
            return
        self._grow(len(fitting))
        at = slice(self._count, self._count + len(fitting))
        blobs = b"".join(blob[4:] for _, _, blob in fitting)
        self._rows[at] = np.frombuffer(blobs, np.int8).reshape(len(fitting), self.size)
        factors = np.array([struct.unpack_from("<f", blob)[0] for _, _, blob in fitting])
        common = (self._rows[at].astype(np.float32) * factors[:, None]) @ self._cohort.T
        spread = np.maximum(common.std(axis=1), MIN_DEVIATION)
        scopes = [self._scopes.setdefault(scope, len(self._scopes)) for _, scope, _ in fitting]
        self._numbers[:, at] = (factors, common.mean(axis=1), spread, scopes)
        self._keys += [key for key, _, _ in fitting]
        self._count += len(fitting)

    def _grow(self, more: int) -> None:
        capacity = len(self._rows)
        if self._count + more <= capacity:
            return
        larger = max(self._count + more, capacity * 3 // 2)
        rows = np.empty((larger, self.size), np.int8)
        numbers = np.empty((4, larger), np.float32)
        rows[: self._count] = self._rows[: self._count]
        numbers[:, : self._count] = self._numbers[:, : self._count]
        self._rows, self._numbers = rows, numbers

    def nearest(self, vector: Floats, scope: str | None, limit: int) -> list[tuple[str, float]]:
        """Return the keys nearest to a normalized vector, best first, with their similarity above
        that of unrelated texts, in standard deviations."""
        if len(vector) != self.size or not self._count:
            return []
        at: slice | NDArray[np.intp] = slice(0, self._count)
        if scope is not None:
            code = self._scopes.get(scope, -1)
            at = np.flatnonzero(self._numbers[3, : self._count] == code)
            if not len(at):
                return []
        rows, numbers = self._rows[at], self._numbers[:, at]
        cosines = np.empty(len(rows), np.float32)
        for start in range(0, len(rows), CHUNK_ROWS):
            part = slice(start, start + CHUNK_ROWS)
            cosines[part] = rows[part].astype(np.float32) @ vector * numbers[0, part]
        common = self._cohort @ vector
        mean, spread = float(common.mean()), max(float(common.std()), MIN_DEVIATION)
        score = ((cosines - mean) / spread + (cosines - numbers[1]) / numbers[2]) / 2
        best = np.arange(len(score))
        if limit < len(score):
            best = np.argpartition(-score, limit)[:limit]
        best = best[np.argsort(-score[best], kind="stable")]
        places = best if isinstance(at, slice) else at[best]
        return [
            (self._keys[place], float(score[one])) for place, one in zip(places, best, strict=True)
        ]


def unit_rows(vectors: Sequence[Floats] | Floats) -> Floats:
    """Return the vectors with each row normalized."""
    return np.stack([unit(vector) for vector in vectors])
