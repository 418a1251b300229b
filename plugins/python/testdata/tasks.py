#!/usr/bin/env python3
"""One algorithm for all tasks, on points of a line: it finds the threshold, with noise."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shatter import TARGET_IN_CLASS, CLEAN_LABELS, EXACT_ERROR, Bound, Guarantee, Infeasible, Invalid, algorithm, param, serve

print("printed before the handshake")


@dataclass
class Params:
    noise: float = param(0.0, min=0, doc="standard deviation of what is added to the threshold")
    rounds: int = param(0, min=0, max=9, doc="how often it looks; 0: once")
    mode: str = param("mean", choices=["mean", "median"], doc="of the two examples on either side")
    flip: bool = param(False, doc="answers the other label")


class Cut:
    def __init__(self, at, flip, rand):
        self.at, self.sign, self.rand = at, -1.0 if flip else 1.0, rand

    def predict(self, x):
        return np.where(x[:, 0] >= self.at, self.sign, -self.sign)

    def answer(self, x):
        return self.predict(x[None])[0], abs(x[0] - self.at) < 2

    def observe(self, x, y):
        if (x[0, 0] >= self.at) != (y[0] > 0):
            self.at += y[0] * -self.rand.integers(1, 3)


@algorithm("python/threshold", version="1", params=Params, metrics={"cut": "the threshold", "spread": "of the points"})
class Threshold:
    "Cuts a line where the labels change, with noise."

    def check(self, s):
        s.params.rounds = s.params.rounds or 1
        if s.problem.dim != 1:
            raise Invalid(f"dim = {s.problem.dim}: points of a line are needed")
        if 0 < s.n < 3:
            raise Infeasible(f"n = {s.n}: 3 examples are needed")

    def guarantee(self, s):
        return Guarantee(epsilon=s.epsilon, delta=s.delta, unproved=True, source="none")

    def bound(self, s):
        if s.task == "online":
            return []
        return [Bound("made up", "nowhere", 3 / s.alpha, premises=[TARGET_IN_CLASS, CLEAN_LABELS, EXACT_ERROR])]

    def learn(self, trial, x, y):
        x = x[:, 0]
        low, high = x[y < 0].max(initial=0), x[y > 0].min(initial=trial.problem.domain)
        at = (low + high) / 2 + trial.params.noise * trial.rand.standard_normal()
        trial.report("cut", at)
        return Cut(at, trial.params.flip, trial.rand)

    def predict(self, trial, x, y):
        assert (trial.revealed is not None) == trial.offline
        return self.learn(trial, x, y)

    def online(self, trial):
        return Cut(trial.problem.domain / 2, trial.params.flip, trial.rand)


if __name__ == "__main__":
    serve(Threshold)
