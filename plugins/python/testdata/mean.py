#!/usr/bin/env python3
"""Nearest mean, with noise that a parameter sets."""
from dataclasses import dataclass

import numpy as np

from shatter import algorithm, param, serve


@dataclass
class Params:
    noise: float = param(0.0, min=0, doc="standard deviation of what is added to the weights")


@algorithm("python/mean", version="1.0.0", params=Params)
class Mean:
    "Nearest mean."

    def learn(self, trial, x, y):
        w = y @ x / len(y) + trial.params.noise * trial.rand.standard_normal(x.shape[1])
        return lambda x: np.where(x @ w > 0, 1.0, -1.0)


if __name__ == "__main__":
    serve(Mean)
