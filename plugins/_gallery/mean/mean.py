#!/usr/bin/env python3
import numpy as np
from shatter import Guarantee, Halfspace, Invalid, algorithm, serve

@algorithm("gallery/mean", version="1")
class Mean:
    "Halfspaces by the mean of y x, with Laplace noise."
    def check(self, s):
        if s.problem.class_ != "halfspace":
            raise Invalid("only halfspaces have points of norm at most 1")
    def guarantee(self, s):  # so one replaced example moves the mean by at most 2 sqrt(d)/n
        return Guarantee(epsilon=s.epsilon, pure=True, source="Laplace mechanism")
    def learn(self, trial, x, y):
        (n, d), noise = x.shape, trial.rand.laplace(size=x.shape[1])
        return Halfspace(y @ x / n + 2 * np.sqrt(d) / (n * trial.epsilon) * noise)

serve(Mean)
