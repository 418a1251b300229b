#!/usr/bin/env python3
"""A problem of its own, Euclidean balls, and a learner for it."""

from dataclasses import dataclass

import numpy as np

from shatter import Invalid, Posed, algorithm, param, problem, serve


@dataclass
class Params:
    d: int = param(2, min=1, max=100, doc="coordinates of a point")
    radius: float = param(1.0, min=0, doc="radius of the ball")


@problem("gallery/balls", version="1.0.0", params=Params)
class Balls:
    "A ball around a uniform point of the cube [-1, 1]^d, on uniform points of the cube."

    def pose(self, params):
        return Posed(dim=params.d, least_error=0.0)

    def target(self, params, rng):
        return rng.uniform(-1, 1, params.d)  # the center

    def sample(self, params, target, rng, n):
        x = rng.uniform(-1, 1, (n, params.d))
        return x, np.where(np.linalg.norm(x - target, axis=1) <= params.radius, 1.0, -1.0)


@algorithm("gallery/least-squares-ball", version="1.0.0")
class LeastSquares:
    "The ball of a least squares fit of the labels by |x|^2, x and 1; not private."

    def check(self, s):
        if s.problem.class_ not in ("gallery/balls", "halfspace"):
            raise Invalid(f"class {s.problem.class_!r}: use gallery/balls or halfspace")

    def learn(self, trial, x, y):
        def lifted(points):
            return np.column_stack([np.sum(points**2, axis=1), points, np.ones(len(points))])

        weights = np.linalg.lstsq(lifted(x), y, rcond=None)[0]
        return lambda points: np.where(lifted(points) @ weights >= 0, 1.0, -1.0)


if __name__ == "__main__":
    serve(Balls, LeastSquares)
