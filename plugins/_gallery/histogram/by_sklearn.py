#!/usr/bin/env python3
"""The n* of a private histogram with scikit-learn: an estimator and its learning curve. Compared in ../README.md.

    python3 by_sklearn.py [SEED]
"""
import sys

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import ShuffleSplit, learning_curve
from sklearn.utils import check_random_state

EPSILON, ALPHA, BETA, TRIALS = 1.0, 0.1, 0.1, 200


class Histogram(ClassifierMixin, BaseEstimator):
    """Answers the noisy majority of the labels at a point."""

    def __init__(self, domain, random_state=None):
        self.domain, self.random_state = domain, random_state

    def fit(self, x, y):
        rng, p = check_random_state(self.random_state), 1 - np.exp(-EPSILON / 2)
        self.classes_ = np.array([-1, 1])
        sums = np.bincount(x[:, 0], y, self.domain)
        sums += rng.geometric(p, self.domain) - rng.geometric(p, self.domain)
        self.labels_ = np.where(sums > 0, 1, -1)
        return self

    def predict(self, x):
        return self.labels_[x[:, 0]]


def curve(domain, sizes, seed):
    """Returns, for each sample size, the share of trials with an error of at most ALPHA on fresh points."""
    rng = np.random.RandomState(seed)
    x = rng.randint(domain, size=(sizes[-1] + 2000, 1))  # one data set and one target for all trials
    y = np.where(x[:, 0] >= rng.randint(domain + 1), 1, -1)
    split = ShuffleSplit(TRIALS, train_size=sizes[-1], test_size=2000, random_state=seed)
    _, _, scores = learning_curve(
        Histogram(domain, random_state=rng), x, y, train_sizes=sizes, cv=split, n_jobs=2)
    return (1 - scores <= ALPHA).mean(axis=1)


if __name__ == "__main__":
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    for domain, sizes in ((16, range(60, 161, 2)), (64, range(200, 501, 4))):
        enough = curve(domain, np.array(sizes), seed) >= 1 - BETA
        print(f"domain {domain}: n* =", sizes[int(np.argmax(enough))] if enough.any() else "beyond the sizes")
