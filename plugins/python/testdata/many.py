#!/usr/bin/env python3
import numpy as np

from shatter import Guarantee, algorithm, serve, uniforms

CELLS = 16


@algorithm("gallery/histogram-many", version="1.0.0")
class Histogram:
    "Answers the noisy majority of the labels in a point's cell, many trials at once."

    def guarantee(self, s):  # one replaced example changes the sums of the labels by 2 in total
        return Guarantee(epsilon=s.epsilon, pure=True, source="geometric mechanism, sensitivity 2")

    def learn_many(self, trials, x, y):
        k, width = len(trials), trials[0].problem.domain / CELLS
        cells = (x[:, :, 0] / width).astype(int) + CELLS * np.arange(k)[:, None]
        sums = np.bincount(cells.ravel(), y.ravel(), k * CELLS).reshape(k, CELLS)
        noise = np.log1p(-uniforms(trials, 2 * CELLS)) * (-2 / trials[0].epsilon)
        noise = np.floor(noise)  # geometric
        labels = np.where(sums + noise[:, :CELLS] - noise[:, CELLS:] > 0, 1.0, -1.0)

        def answers(which, x):
            cells = (x[:, :, 0] / width).astype(int)
            return labels[which][np.arange(len(which))[:, None], cells]

        return answers


if __name__ == "__main__":
    serve(Histogram)
