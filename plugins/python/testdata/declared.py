#!/usr/bin/env python3
"""Declares a random hypothesis of a random kind, on small numbers, so that many points lie on its border."""
import numpy as np

import shatter


@shatter.algorithm("python/declared", version="1")
class Random:
    "Declares a random hypothesis of a random kind."

    declares = True

    def learn(self, trial, x, y):
        problem, rand = trial.problem, trial.rand
        dim, a, b, sign = problem.dim, *rand.integers(-4, 5, 2), rand.choice([-1, 1])
        low, high = rand.integers(-4, 2, dim), rand.integers(-1, 5, dim)
        models = [
            lambda: shatter.Rectangle(low, high),
            lambda: shatter.Stump(rand.integers(dim), a, sign),
            lambda: shatter.Constant(sign),
            lambda: shatter.Halfspace(rand.integers(-3, 4, (1, dim)) / 10, np.array([rand.integers(-9, 10) / 10])),
        ]
        if dim == 1:
            models += [lambda: shatter.Threshold(a), lambda: shatter.Point(a), lambda: shatter.Interval(a, b)]
        if problem.class_ == "parities":
            models += [lambda: shatter.Parity(rand.integers(0, 2, dim)), lambda: shatter.Conjunction(rand.integers(-1, 2, dim))]
        if problem.matrix:
            models += [lambda: shatter.Row(rand.integers(2))]
        return models[rand.integers(len(models))]()


if __name__ == "__main__":
    shatter.serve(Random)
