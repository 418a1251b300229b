#!/usr/bin/env python3
"""Nearest mean, with noise that a parameter sets."""
from dataclasses import dataclass

from shatter import Halfspace, algorithm, param, serve


@dataclass
class Params:
    noise: float = param(0.0, min=0, doc="standard deviation of what is added to the weights")


@algorithm("python/mean", version="1.0.0", params=Params)
class Mean:
    "Nearest mean."

    def declares(self, s):
        return s.problem.class_ == "halfspace"

    def learn(self, trial, x, y):
        return Halfspace(y @ x / len(y) + trial.params.noise * trial.rand.standard_normal(x.shape[1]))


if __name__ == "__main__":
    serve(Mean)
