#!/usr/bin/env python3
"""The n* of a private histogram without Shatter: numpy, joblib and bisection. Compared in ../README.md.

    python3 by_hand.py [SEED]
"""
import sys

import numpy as np
from joblib import Parallel, delayed

EPSILON, ALPHA, BETA, TRIALS = 1.0, 0.1, 0.1, 200


def error(domain, n, seed):
    """Returns the error of one trial of the histogram with a cell for each point."""
    rng = np.random.default_rng(seed)
    target = rng.integers(domain + 1)
    x = rng.integers(domain, size=n)
    y = np.where(x >= target, 1, -1)
    sums = np.bincount(x, y, domain)
    p = 1 - np.exp(-EPSILON / 2)
    sums += rng.geometric(p, domain) - rng.geometric(p, domain)
    return np.mean((sums > 0) != (np.arange(domain) >= target))


def rate(workers, domain, n, seed):
    seeds = np.random.SeedSequence((seed, domain, n)).spawn(TRIALS)
    return np.mean([e <= ALPHA for e in workers(delayed(error)(domain, n, s) for s in seeds)])


def n_star(workers, domain, seed):
    low, high = 0, 16
    while rate(workers, domain, high, seed) < 1 - BETA:
        low, high = high, 2 * high
    while high - low > max(1, low // 50):
        middle = (low + high) // 2
        if rate(workers, domain, middle, seed) < 1 - BETA:
            low = middle
        else:
            high = middle
    return high


if __name__ == "__main__":
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    with Parallel(n_jobs=2) as workers:
        for domain in (16, 64):
            print(f"domain {domain}: n* = {n_star(workers, domain, seed)}")
