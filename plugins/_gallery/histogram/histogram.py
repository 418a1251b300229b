#!/usr/bin/env python3
from dataclasses import dataclass

import numpy as np

from shatter import Guarantee, Invalid, algorithm, param, serve


@dataclass
class Params:
    cells: int = param(64, min=1, max=65536, doc="number of cells of equal width")


@algorithm("gallery/histogram", version="1.0.0", params=Params)
class Histogram:
    "Answers the noisy majority of the labels in a point's cell."

    def check(self, s):
        if s.problem.dim != 1 or s.problem.domain == 0:
            raise Invalid(f"class {s.problem.class_}: the points must be 0 to X-1 on a line")

    def guarantee(self, s):  # one replaced example changes the sums of the labels by 2 in total
        return Guarantee(epsilon=s.epsilon, pure=True, source="geometric mechanism, sensitivity 2")

    def learn(self, trial, x, y):
        cells, width = trial.params.cells, trial.problem.domain / trial.params.cells
        sums = np.bincount((x[:, 0] / width).astype(int), y, cells)
        p = 1 - np.exp(-trial.epsilon / 2)
        sums += trial.rand.geometric(p, cells) - trial.rand.geometric(p, cells)
        labels = np.where(sums > 0, 1.0, -1.0)
        return lambda x: labels[(x[:, 0] / width).astype(int)]


if __name__ == "__main__":
    serve(Histogram)
