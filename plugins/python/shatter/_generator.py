"""Problems of a plugin: distributions of targets, and of points with their labels."""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Optional

import numpy as np

from ._api import _ALGORITHM, _frozen, _parameters, _random

_RESERVED = ("use", "noise", "test")  # keys that stand next to parameters of a problem in a sweep file


@dataclasses.dataclass
class Posed:
    """The public facts about a problem, which algorithms may know."""

    dim: int  # coordinates of each point
    class_: str = ""  # a class of Shatter that the problem draws points of, such as "halfspace"; else its own
    domain: int = 0  # X: coordinates are whole numbers in 0..X-1; 0 for real numbers
    least_error: Optional[float] = None  # least error of the class; 0: the target is in it; None: unknown


class Generator:
    """A problem that can be served. The decorator `problem` makes it from a class."""

    def __init__(self, cls: type, name: str, version: str, params: Optional[type]):
        if not _ALGORITHM.fullmatch(name):
            raise ValueError(f"problem {name!r}: the name must be family/name, of lower case letters, digits and hyphens")
        self.name, self.version, self.doc = name, version, " ".join((cls.__doc__ or "").split())
        author = _frozen(cls)()
        missing = [part for part in ("pose", "target", "sample") if not hasattr(author, part)]
        if missing or not version:
            raise ValueError(f"problem {name!r}: it has no {' and no '.join(missing) or 'version'}")
        self.params, self.pose, self.target, self.sample = params, author.pose, author.target, author.sample
        try:
            self.parameters = _parameters(params, _RESERVED)
        except ValueError as error:
            raise ValueError(f"problem {name!r}: {error}") from None

    def draw(self, params: Any, posed: Posed, target: tuple[int, int], points: tuple[int, int], count: int) -> tuple[Any, Any]:
        """Return examples of the target that the words target seed, drawn from the words points."""
        x, y = self.sample(params, self.target(params, _random(*target)), _random(*points), count)
        x, y = np.ascontiguousarray(x, "<f8"), np.asarray(y)
        if x.shape != (count, posed.dim) or y.shape != (count,):
            raise ValueError(f"sample returned points of shape {x.shape} and labels of shape {y.shape}, "
                             f"and {(count, posed.dim)} and {(count,)} are needed")
        if not np.all((y == 1) | (y == -1)):
            raise ValueError(f"sample returned the label {y[(y != 1) & (y != -1)][0]}, neither -1 nor +1")
        return x, y


def problem(name: str, *, version: str, params: Optional[type] = None) -> Callable[[type], Generator]:
    """Make a problem of the class below, whose docstring is one sentence for users.

    name is "family/name"; version is that of the examples, to be changed whenever they change; params is a dataclass
    as for `algorithm`. A sweep file uses it with "problem: {use: family/name, ...}". The class has the methods

        pose(self, params)                   returns Posed, and raises Invalid if the parameters do not fit
        target(self, params, rng)            returns the target of a trial, in any form
        sample(self, params, target, rng, n) returns n points x[n, dim] and their labels y[n], -1 and +1

    rng is a numpy.random.Generator and the only source of randomness. The n examples are independent, and their
    distribution does not depend on n. target is called again for each part of the examples of a trial, with equal
    random numbers.
    """
    return lambda cls: Generator(cls, name, version, params)
