"""Declared hypotheses: models that Shatter knows, and whose errors it computes itself."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np

from ._api import Array, Failure, Problem


class Declared:
    """A complete model: a known hypothesis. Shatter computes its error instead of asking the model about points.

    The error is exact where the problem has a formula for it. The hypothesis may belong to another class than the
    problem's if it is a function on the same points. A trial whose hypothesis does not fit its points, or has a NaN,
    fails. Use one of the subclasses.
    """

    kind = ""  # name in the protocol
    numbers: Array  # parameters of the hypothesis, in the order of the protocol
    dim: Optional[int] = None  # coordinates of the points; None: any number

    def _set(self, numbers: Any, dim: Optional[int] = None) -> None:
        self.numbers, self.dim = numbers, dim
        bad = np.flatnonzero(np.isnan(numbers))
        if len(bad):
            raise ValueError(f"a {self.kind}: number {bad[0]} is NaN")

    def _bind(self, problem: Problem) -> None:
        """Prepare to predict on the points of a problem. Raise Failure if the hypothesis is none on them."""
        if self.dim is not None and self.dim != problem.dim:
            raise Failure(f"a {self.kind} on points of {self.dim} numbers: the points of this problem have {problem.dim}")

    def predict(self, x: Array) -> Array:
        """Return the labels, -1 or +1, of the rows of x."""
        positive = self._positive(x)
        return np.where(positive, 1.0, -1.0)

    def _positive(self, x: Array) -> Array:
        raise NotImplementedError


class Threshold(Declared):
    """+1 at the points x >= t."""

    kind = "threshold"

    def __init__(self, t: float):
        self._set(_scalars(self, t=t), dim=1)

    def _positive(self, x: Array) -> Array:
        return x[:, 0] >= self.numbers[0]


class Point(Declared):
    """+1 at the point a alone."""

    kind = "point"

    def __init__(self, a: float):
        self._set(_scalars(self, a=a), dim=1)

    def _positive(self, x: Array) -> Array:
        return x[:, 0] == self.numbers[0]


class Interval(Declared):
    """+1 at the points from low to high, both included; nowhere if low > high."""

    kind = "interval"

    def __init__(self, low: float, high: float):
        self._set(_scalars(self, low=low, high=high), dim=1)

    def _positive(self, x: Array) -> Array:
        return (x[:, 0] >= self.numbers[0]) & (x[:, 0] <= self.numbers[1])


class Rectangle(Declared):
    """+1 where low[k] <= x[k] <= high[k] for every coordinate k."""

    kind = "rectangle"

    def __init__(self, low: Array, high: Array):
        low, high = _vector(self, "low", low), _vector(self, "high", high)
        if len(low) != len(high):
            raise ValueError(f"a rectangle: low has {len(low)} numbers, and high has {len(high)}")
        self._set(np.concatenate([low, high]), dim=len(low))

    def _positive(self, x: Array) -> Array:
        low, high = np.split(self.numbers, 2)
        return ((x >= low) & (x <= high)).all(axis=1)


class Stump(Declared):
    """sign, -1 or +1, at the points with x[axis] >= cut, and -sign at the others."""

    kind = "stump"

    def __init__(self, axis: int, cut: float, sign: float):
        self._set(_scalars(self, axis=axis, cut=cut, sign=sign))
        self.axis = _index(self, "axis", self.numbers[0])
        _check_sign(self, self.numbers[2])

    def _bind(self, problem: Problem) -> None:
        if self.axis >= problem.dim:
            raise Failure(f"a stump: axis {self.axis}: use a whole number from 0 to {problem.dim - 1}")

    def _positive(self, x: Array) -> Array:
        return (x[:, self.axis] >= self.numbers[1]) == (self.numbers[2] > 0)


class Parity(Declared):
    """+1 where an odd number of the chosen bits are 1.

    mask has a number for each bit: 1 if it is chosen, otherwise 0.
    """

    kind = "parity"

    def __init__(self, mask: Array):
        mask = _vector(self, "mask", mask)
        self._set(mask, dim=len(mask))
        _check_values(self, mask, (0.0, 1.0), "0 or 1")

    def _positive(self, x: Array) -> Array:
        return x[:, self.numbers == 1].sum(axis=1) % 2 == 1


class Conjunction(Declared):
    """+1 where all its literals hold.

    literals has a number for each bit: 1 if the bit must be 1, -1 if it must be 0, and 0 if the bit is not in the
    conjunction. A monotone conjunction has no -1.
    """

    kind = "conjunction"

    def __init__(self, literals: Array):
        literals = _vector(self, "literals", literals)
        self._set(literals, dim=len(literals))
        _check_values(self, literals, (-1.0, 0.0, 1.0), "1, -1 or 0")

    def _positive(self, x: Array) -> Array:
        return ((self.numbers == 0) | (x == (self.numbers > 0))).all(axis=1)


class Row(Declared):
    """Row i of the class matrix, counted from 0. It can predict once learn has returned it."""

    kind = "row"
    _labels: Optional[str] = None

    def __init__(self, i: int):
        self._set(_scalars(self, i=i), dim=1)
        self.i = _index(self, "i", self.numbers[0])

    def _bind(self, problem: Problem) -> None:
        super()._bind(problem)
        rows = len(problem.matrix) // max(1, problem.domain)
        if not rows:
            raise Failure(f"a row: its points are columns of a matrix, and those of {problem.class_} are not")
        if self.i >= rows:
            raise Failure(f"a row: i = {self.i}: use a whole number from 0 to {rows - 1}")
        self._labels = problem.matrix[self.i * problem.domain:(self.i + 1) * problem.domain]

    def _positive(self, x: Array) -> Array:
        if self._labels is None:
            raise ValueError("a row lies in the matrix of a problem: it can predict once learn has returned it")
        return np.frombuffer(self._labels.encode(), np.uint8)[x[:, 0].astype(int)] == ord("1")


class Halfspace(Declared):
    """+1 where <w,x> + b >= 0.

    The attributes of a linear classifier of scikit-learn fit as they are: Halfspace(clf.coef_, clf.intercept_).
    """

    kind = "halfspace"

    def __init__(self, w: Array, b: float = 0.0):
        w = np.asarray(w, float)
        if w.ndim == 2 and len(w) == 1:
            w = w[0]
        w, b = _vector(self, "w", w), np.asarray(b, float)
        if b.size != 1 or b.ndim > 1:
            raise ValueError(f"a halfspace: b has the shape {b.shape}: use one number")
        self._set(np.append(w, b), dim=len(w))
        bad = np.flatnonzero(np.isinf(self.numbers))
        if len(bad):
            raise ValueError(f"a halfspace: number {bad[0]} is {self.numbers[bad[0]]}: use finite numbers")

    def _positive(self, x: Array) -> Array:
        s = np.zeros(len(x))
        with np.errstate(all="ignore"):
            for k in range(x.shape[1]):  # the order in which the worker adds: the labels are the same to the last bit
                s += x[:, k] * self.numbers[k]
        return s >= -self.numbers[-1]


class Constant(Declared):
    """sign, -1 or +1, everywhere."""

    kind = "constant"

    def __init__(self, sign: float):
        self._set(_scalars(self, sign=sign))
        _check_sign(self, self.numbers[0])

    def _positive(self, x: Array) -> Array:
        return np.full(len(x), self.numbers[0] > 0)


def _scalars(of: Declared, **given: Any) -> Array:
    """Return named numbers as an array."""
    numbers = np.empty(len(given))
    for k, (name, v) in enumerate(given.items()):
        v = np.asarray(v, float)
        if v.size != 1 or v.ndim > 1:
            raise ValueError(f"a {of.kind}: {name} has the shape {v.shape}: use one number")
        numbers[k] = v.item()
    return numbers


def _vector(of: Declared, name: str, v: Any) -> Array:
    """Return a list of numbers as a copy that is an array."""
    v = np.array(v, float)
    if v.ndim != 1 or not v.size:
        raise ValueError(f"a {of.kind}: {name} has the shape {v.shape}: use a list of numbers, one for each coordinate of a point")
    return v


def _index(of: Declared, name: str, v: float) -> int:
    if v < 0 or v != np.floor(v) or np.isinf(v):
        raise ValueError(f"a {of.kind}: {name} = {v}: use a whole number from 0 on")
    return int(v)


def _check_sign(of: Declared, sign: float) -> None:
    if sign not in (-1.0, 1.0):
        raise ValueError(f"a {of.kind}: sign {sign}: use -1 or +1")


def _check_values(of: Declared, numbers: Array, allowed: tuple[float, ...], words: str) -> None:
    bad = np.flatnonzero(~np.isin(numbers, allowed))
    if len(bad):
        raise ValueError(f"a {of.kind}: number {bad[0]} is {numbers[bad[0]]}: use {words}")
