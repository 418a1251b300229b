#!/usr/bin/env python3
"""Runs the same experiments with Shatter, with numpy spread over the cores by multiprocessing, joblib and Dask, and
with R's package parallel.

    compare.py SHATTER [--quick] [--rounds 5] [--jobs N] [--only NAME] [--sides joblib,dask]

SHATTER is the built binary. Every side is a command of its own, timed from its start to the printed rates. The sides
take turns, round after round. If another side finds other success rates or mean errors than Shatter, the script says
where and ends with exit code 1. The table on stdout is Markdown. README.md beside this file says how to read it.
"""

import argparse
import importlib
import json
import math
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

ALGORITHMS = {
    "em": "expmech/em", "pf": "expmech/pf", "erm": "baseline/erm", "centering": "boosting/centering",
    "hs-stl": {"use": "boosting/hs-stl", "as": "hs-stl", "rounds": 50}, "logistic": "gallery/linear"}
HERE = os.path.dirname(os.path.abspath(__file__))
LINEAR = os.path.join(HERE, "..", "..", "plugins", "_gallery", "linear", "linear.py")
ADULT = {
    "label": "income", "positive": ">50K",
    "scale": {"age": [17, 90], "fnlwgt": [0, 1.5e6], "education_num": [1, 16], "capital_gain": [0, 1e5],
              "capital_loss": [0, 5000], "hr_per_week": [1, 99]},
    "categorical": ["type_employer", "education", "marital", "occupation", "relationship", "race", "sex", "country"]}
LEVEL = 1e-3  # of all comparisons of one run together: the probability that equal sides are called different
SLACK = 1 / 20  # of alpha: as precise are the errors that Shatter measures where it does not compute them


# The numpy side. Each function below draws as many trials as rows at once, and returns their errors under the distribution of
# points, in closed form. Labels are clean, so that the least number of errors on a sample is 0.


def between(left, a, right=None):
    """Returns a with a column of left before it, and one of right after it if there is one. np.pad takes longer."""
    out = np.empty((a.shape[0], a.shape[1] + 1 + (right is not None)), a.dtype)
    out[:, 0], out[:, 1 : a.shape[1] + 1] = left, a
    if right is not None:
        out[:, -1] = right
    return out


def choose(algorithm, errors, count, epsilon, rng):
    """Returns for each row the group of hypotheses that the algorithm answers from: count hypotheses with that many
    errors each."""
    if algorithm == "pf":  # the largest -epsilon errors/2 + exponential noise; the maximum of count of these at once
        with np.errstate(divide="ignore"):
            noise = -np.log(-np.expm1(np.log(1 - rng.random(errors.shape)) / count))
        return np.where(count > 0, noise - epsilon / 2 * errors, -np.inf).argmax(axis=1)
    sums = np.cumsum(count * (errors == 0 if algorithm == "erm" else np.exp(-epsilon / 2 * errors)), axis=1)
    return (sums <= rng.random((len(sums), 1)) * sums[:, -1:]).sum(axis=1)


def thresholds(e, algorithm, rows, rng):
    last = e["domain"]  # the largest threshold
    if e["distribution"] == "needle":
        last -= 1
        target = np.full((rows, 1), e["domain"] // 2)
        points, weights = [target[0, 0] - 1, target[0, 0], last], [e["mass"], e["mass"], 1 - 2 * e["mass"]]
        x = np.array(points)[np.searchsorted(np.cumsum(weights[:2]), rng.random((rows, e["n"])), "right")]
    else:
        target = rng.integers(last + 1, size=(rows, 1))
        x = rng.integers(e["domain"], size=(rows, e["n"]))
    x.sort(axis=1)
    positive = x >= target
    ends = between(-1, x, last)  # the thresholds of a group lie above one end and go up to the next
    errors = np.cumsum(np.where(positive, 1, -1), axis=1)
    errors = between(0, errors) + (e["n"] - positive.sum(axis=1, keepdims=True))
    count = np.diff(ends, axis=1)
    i = choose(algorithm, errors, count, e["epsilon"], rng)[:, None]
    h = np.take_along_axis(ends, i, 1) + 1 + rng.integers(np.take_along_axis(count, i, 1))
    return np.where(h == target, 0, e["mass"]) if e["distribution"] == "needle" else abs(h - target) / e["domain"]


def intervals(e, algorithm, rows, rng):
    """An interval that holds the points i to j has errors = positives + sums[j+1] - sums[i], so that its weight is a
    factor of i times a factor of j."""
    size, n, half = e["domain"], e["n"], e["domain"] // 2
    epsilon = 200 if algorithm == "erm" else e["epsilon"]  # e^-100 for an error
    low = rng.integers(size - half + 1, size=(rows, 1))
    x = np.sort(rng.integers(size, size=(rows, n)), axis=1)
    positive = (x >= low) & (x < low + half)
    sums = between(0, np.cumsum(np.where(positive, -1, 1), axis=1))
    ends = between(-1, x, size)
    steps = np.diff(ends, axis=1)  # steps[i] left ends and steps[j+1] right ends
    with np.errstate(divide="ignore"):
        logs = np.log(steps)
    first = logs[:, :-1] + epsilon / 2 * sums[:, :-1]
    upto = np.logaddexp.accumulate(first, axis=1)
    gaps = (steps - 1.0) * steps / 2  # intervals that hold no point of the sample; one more is empty
    weights = np.concatenate([logs[:, 1:] - epsilon / 2 * sums[:, 1:] + upto,
                              np.log(1 + gaps.sum(axis=1, keepdims=True))], axis=1)
    j = pick(weights, rng)
    out = np.empty((rows, 1))
    for row in np.flatnonzero(j[:, 0] == n):  # rare
        a, b = in_gap(ends[row], gaps[row], rng)
        out[row] = half + b - a - 2 * max(0, min(b, low[row, 0] + half) - max(a, low[row, 0]))
    held = np.flatnonzero(j[:, 0] < n)
    j, low = j[held], low[held]
    i = pick(np.where(np.arange(n) <= j, first[held], -np.inf), rng)
    at = lambda a, k: np.take_along_axis(a[held], k, 1)
    a, b = at(x, i) - rng.integers(at(steps, i)), at(x, j) + 1 + rng.integers(at(steps, j + 1))
    out[held] = half + b - a - 2 * np.maximum(0, np.minimum(b, low + half) - np.maximum(a, low))
    return out / size


def pick(logs, rng):
    sums = np.cumsum(np.exp(logs - logs.max(axis=1, keepdims=True)), axis=1)
    return (sums <= rng.random((len(sums), 1)) * sums[:, -1:]).sum(axis=1, keepdims=True)


def in_gap(ends, gaps, rng):
    """Returns a uniform interval [a, b) that holds no point of one sample; a = b for the empty one."""
    rank = rng.random() * (1 + gaps.sum())
    if rank < 1:
        return 0, 0
    gap = np.searchsorted(np.cumsum(gaps), rank - 1, "right")
    while True:
        a, b = rng.integers(ends[gap] + 1, ends[gap + 1], size=2)
        if a <= b:
            return a, b + 1


def stumps(e, algorithm, rows, rng):
    size, n, d = e["domain"], e["n"], e["d"]
    axis, target = rng.integers(d, size=rows), rng.integers(size + 1, size=rows)
    x = rng.integers(size, size=(d, rows, n))
    positive = x[axis, np.arange(rows)] >= target[:, None]
    minus = n - positive.sum(axis=1, keepdims=True)
    errors, count, ends = [], [], []
    for points in x:
        keys = np.sort(2 * points + positive, axis=1)  # by point, together with its label
        cuts = between(0, keys >> 1, size - 1)
        above = between(0, np.cumsum(2 * (keys & 1) - 1, axis=1)) + minus
        errors += [above, n - above]  # of the stumps that are +1 above their cut, and of their opposites
        count += 2 * [np.diff(cuts, axis=1)]
        ends.append(cuts)
    errors = np.concatenate(errors + [n - minus, minus], axis=1)  # the last two are constant
    count = np.concatenate(count + [np.ones((rows, 2), dtype=int)], axis=1)
    i = choose(algorithm, errors, count, e["epsilon"], rng)
    group, i = np.divmod(i, n + 1)
    constant = group == 2 * d
    group[constant], upper = 0, group % 2 == 0
    cuts = np.array(ends)[group // 2, np.arange(rows)]
    lo, hi = cuts[np.arange(rows), i], np.maximum(cuts[np.arange(rows), i + 1], cuts[np.arange(rows), i] + 1)
    share = 1 - (lo + 1 + rng.integers(hi - lo)) / size  # of the points above the cut
    mine = 1 - target / size
    same = np.where(upper, abs(share - mine), 1 - abs(share - mine))
    plus = np.where(upper, share, 1 - share)
    out = np.where(group // 2 == axis, same, plus + mine - 2 * plus * mine)
    return np.where(constant, np.where(i == 0, mine, 1 - mine), out)


def parities(e, algorithm, rows, rng):
    """Counts the errors of all parities by a Walsh-Hadamard transform."""
    d, n = e["d"], e["n"]
    target, x = rng.integers(2**d, size=(rows, 1)), rng.integers(2**d, size=(rows, n))
    bits = x & target
    for shift in (16, 8, 4, 2, 1):
        bits ^= bits >> shift
    sums = np.zeros((rows, 2**d), dtype=np.int16)  # n < 2^15
    np.add.at(sums, (np.arange(rows)[:, None], x), (1 - 2 * (bits & 1)).astype(np.int16))
    for j in range(d):
        pairs = sums.reshape(rows, -1, 2, 2**j)
        sums = np.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], axis=2)
    errors = (n - sums.reshape(rows, -1)) // 2
    count = np.array([np.bincount(row, minlength=n + 1) for row in errors])
    level = choose(algorithm, np.broadcast_to(np.arange(n + 1), count.shape), count, e["epsilon"], rng)
    answers = [rng.choice(np.flatnonzero(row == k)) for row, k in zip(errors, level)]
    return np.where(np.array(answers) == target[:, 0], 0, 0.5)


def sphere(e, algorithm, rows, rng):
    """Boosts the noisy mean of y x over weights with the sum kappa n, or takes the mean alone. Points are uniform on
    the unit sphere, so that the error of a halfspace is its angle to the target's, divided by pi."""
    n, d, lam, rounds = e["n"], e["d"], 8, 50
    mass = 3 * e["alpha"] * n
    if algorithm == "centering":
        rounds, mass = 1, n
    sigma = 2 * math.sqrt(rounds) / mass / e["mu"]
    target, x = rng.normal(size=(rows, d, 1)), rng.normal(size=(rows, n, d))
    x *= np.sign(x @ target) / np.sqrt(np.einsum("rnd,rnd->rn", x, x))[:, :, None]  # y x is enough
    weights, logs, guess, w = np.full((rows, n), mass / n), np.zeros((rows, n)), np.zeros((rows, 1)), 0
    for t in range(rounds):
        if t > 0:
            logs -= lam / 2 * (x @ z)[:, :, 0]
            weights, guess = project(logs, guess, mass)
        z = (weights[:, None, :] @ x).transpose(0, 2, 1) / mass + sigma * rng.normal(size=(rows, d, 1))
        w = w + z
    inner, norms = (w * target).sum(axis=1), np.sqrt((w * w).sum(axis=1) * (target * target).sum(axis=1))
    return np.arccos(np.clip(inner / norms, -1, 1)) / math.pi


def project(logs, guess, mass):
    """Returns weights min(1, c e^logs) with the sum mass, and ln c, by Newton's method from a guess of ln c."""
    u, factor, last = np.exp(logs + guess), 1.0, None
    while True:
        capped = factor * u >= 1
        count = capped.sum(axis=1, keepdims=True)
        if np.array_equal(count, last):
            return np.minimum(1, factor * u), guess + np.log(factor)
        capped &= count < mass  # beyond the solution: from its other side
        factor = (mass - capped.sum(axis=1, keepdims=True)) / (u * ~capped).sum(axis=1, keepdims=True)
        last = count


def from_file(e, algorithm, rows, rng):
    """Learns from rows of a data file, and counts the errors on all of them."""
    x, y = (np.load(e["file"] + name, mmap_mode="r") for name in (".x.npy", ".y.npy"))
    out = []
    for _ in range(rows):
        some = rng.integers(len(y), size=e["n"])
        if algorithm == "centering":
            w = (y[some, None] * x[some]).mean(axis=0) + 2 / e["n"] / e["mu"] * rng.normal(size=x.shape[1])
        else:  # a sample with one label alone, which needs a constant, has a probability below 1e-40
            from sklearn.linear_model import LogisticRegression
            w = LogisticRegression(fit_intercept=False).fit(x[some], y[some]).coef_[0]
        out.append(np.mean(np.where(x @ w >= 0, 1, -1) != y))
    return np.array(out)


def mu(epsilon, delta):
    """Returns the parameter of Gaussian differential privacy that gives epsilon and delta (Balle and Wang 2018)."""
    cdf, low, high = statistics.NormalDist().cdf, 1e-9, 100.0
    for _ in range(200):
        m = (low + high) / 2
        found = cdf(-epsilon / m + m / 2) - math.exp(epsilon) * cdf(-epsilon / m - m / 2)
        low, high = (m, high) if found <= delta else (low, m)
    return low


def write_data(e, file):
    """Writes a CSV file of whole numbers from -127 to 127, with labels of a halfspace that errs now and then."""
    rng, d, block = np.random.default_rng(1), e["d"], 50_000
    texts = np.array([list(b"%+04d," % v) for v in range(-127, 128)], np.uint8)
    target = rng.normal(size=d)
    with open(file, "wb") as f:
        f.write(",".join([f"x{j}" for j in range(d)] + ["y"]).encode() + b"\n")
        for begin in range(0, e["rows"], block):
            x = rng.integers(-127, 128, size=(min(block, e["rows"] - begin), d))
            y = np.where(x @ target + rng.normal(size=len(x)) * 100 >= 0, 1, -1)
            ends = np.array([list(b"%+d\n" % v) for v in (-1, 1)], np.uint8)[(y + 1) // 2]
            f.write(np.concatenate([texts[x + 127].reshape(len(x), -1), ends], axis=1).tobytes())


def read_data(e):
    """Reads the CSV file once, so that all processes share what it holds. Points are scaled into the unit ball."""
    data = e["data"]
    if "categorical" in data:
        table = np.genfromtxt(e["file"], delimiter=",", names=True, dtype=None, encoding="utf-8")
        numbers = [2 * np.clip((table[k] - low) / (high - low), 0, 1) - 1 for k, (low, high) in data["scale"].items()]
        values = [table[k][:, None] == np.unique(table[k]) for k in data["categorical"]]  # a column for each value
        x = np.column_stack(numbers + values) / math.sqrt(len(numbers) + len(values))
        y = np.where(table[data["label"]] == data["positive"], 1.0, -1.0)
    else:
        table = np.loadtxt(e["file"], delimiter=",", skiprows=1)
        x, y = table[:, :-1] / data["scale"], table[:, -1]
    np.save(e["file"] + ".x.npy", x)
    np.save(e["file"] + ".y.npy", y)


LEARNERS = {
    "thresholds": thresholds, "intervals": intervals, "stumps": stumps, "parities": parities, "halfspace": sphere}


def cells(e):
    """Lists the parts of an experiment, each with an algorithm and what tells them apart in a table of results."""
    return [(part, a, a + (f", d = {part['d']}" if "parts" in e else "")) for part in e.get("parts", [e])
            for a in e["algorithms"]]


def task(e, algorithm, seed, number, trials, rows):
    """Runs trials and returns how many errors are at most alpha less the slack, alpha, and alpha plus the slack, and
    the sums of the errors and of their squares."""
    rng = np.random.default_rng([seed, number])
    goals = e["alpha"] * np.array([[1 - SLACK], [1], [1 + SLACK]])
    total = np.zeros(5)
    for begin in range(0, trials, rows):
        learner = from_file if "file" in e else LEARNERS[e["class"]]
        errors = learner(e, algorithm, min(rows, trials - begin), rng)
        errors = errors.ravel()
        total += [*(errors <= goals).sum(axis=1), errors.sum(), (errors**2).sum()]
    return total


def tasks(e, one_by_one, jobs, seed):
    """Lists the calls of task for one experiment, some 8 for each core, in blocks of trials that fit into a cache, and
    the cell that each is about."""
    calls, about = [], []
    for part, algorithm, cell in cells(e):
        width = 2 ** part["d"] if part["class"] == "parities" else part["n"] * part.get("d", 1)
        rows = 1 if one_by_one else max(1, 2**15 // width)
        size = max(1, -(-part["trials"] * len(e["algorithms"]) // (8 * jobs)))
        for begin in range(0, part["trials"], size):
            calls.append((part, algorithm, seed, len(calls), min(size, part["trials"] - begin), rows))
            about.append(cell)
    return calls, about


def summary(n, good, first, second):
    """Returns what a side found of a cell with n trials, from the sums that task returns."""
    variance = max(0, second / n - (first / n) ** 2)
    return {"trials": n, "successes": [int(k) for k in good], "mean": first / n, "se": math.sqrt(variance / n)}


def r_side(e, jobs, seed):
    """Runs an experiment with R and returns what it found by cell."""
    numbers = [e["domain"], e["distribution"], e.get("mass", 0), e["n"], e["alpha"], SLACK, e["epsilon"], e["trials"],
               ",".join(e["algorithms"]), jobs, seed]
    script = os.path.join(HERE, "compare.R")
    text = subprocess.run(["Rscript", script, *map(str, numbers)], check=True, stdout=subprocess.PIPE).stdout
    found = {}
    for line in text.decode().splitlines():
        algorithm, *sums = line.split()
        *good, first, second = map(float, sums)
        found[algorithm] = summary(e["trials"], good, first, second)
    return found


def numpy_side(side, e, jobs, seed):
    """Runs an experiment and returns what it found by cell, as rates does."""
    if side == "R":
        return r_side(e, jobs, seed)
    if "file" in e:
        read_data(e)
    calls, about = tasks(e, side == "one by one", jobs, seed)
    if side == "multiprocessing":
        import multiprocessing
        with multiprocessing.Pool(jobs) as pool:
            totals = pool.starmap(task, calls, chunksize=1)
    elif side == "dask":
        from distributed import Client
        with Client(n_workers=jobs, threads_per_worker=1, dashboard_address=None, silence_logs=50) as client:
            totals = client.gather(client.map(task, *zip(*calls), pure=False))
    else:
        import joblib
        totals = joblib.Parallel(n_jobs=jobs)(joblib.delayed(task)(*c) for c in calls)
    found = {}
    for part, _, cell in cells(e):
        *good, first, second = sum(t for t, c in zip(totals, about) if c == cell)
        found[cell] = summary(part["trials"], good, first, second)
    return found


# The comparison.


def experiments(quick, adult):
    """Lists the experiments; a name is what --only asks for. adult is the path of the data set adult, or None."""
    def sweep(name, n, trials, **fields):
        return {"name": f"{name}, n = {n}", "n": n, "trials": trials, "distribution": "uniform", "alpha": 0.1, "beta": 0.05,
                "epsilon": 1, "algorithms": ["em", "pf", "erm"], **fields}

    x, out = 2**16, []
    some = {50: 2000} if quick else {50: 500_000, 444: 100_000, 5000: 10_000}
    for n, trials in some.items():
        out.append(sweep("thresholds", n, trials, **{"class": "thresholds", "domain": x}))
        out.append(sweep("intervals (em, erm)", n, trials,
                         **{"class": "intervals", "domain": x, "algorithms": ["em", "erm"]}))
        for d in [2] if quick else [2, 5]:
            out.append(sweep(f"stumps, d = {d}", n, trials // d, **{"class": "stumps", "domain": x, "d": d}))
    bits = [(6, 50, 400)] if quick else [(12, 50, 40_000), (16, 444, 4_000), (20, 5000, 200)]
    for d, n, trials in bits:
        out.append(sweep(f"parities, d = {d}", n, trials, **{"class": "parities", "d": d}))
    needle = {"class": "thresholds", "domain": x, "distribution": "needle", "mass": 0.1, "alpha": 0.09, "algorithms": ["em"]}
    for trials in [1000] if quick else [10**5, 10**6]:
        out.append(sweep(f"needle, {trials:,} trials", 334, trials, **needle))
    lengths = [(8, 50, 400), (14, 50, 4)] if quick else [(13, 444, 8_000), (24, 444, 8)]
    mix = sweep("mix of short and long trials", 444, 0, algorithms=["em"])
    out.append({**mix, "parts": [{**mix, "class": "parities", "d": d, "n": n, "trials": trials}
                                 for d, n, trials in lengths]})
    halfspace = {"class": "halfspace", "delta": 1e-6, "mu": mu(1, 1e-6)}
    for name, algorithm, work in [("private boosting", "hs-stl", 4e7), ("noisy average", "centering", 4e8)]:
        for d, n in [(10, 200)] if quick else [(10, 200), (50, 200), (10, 2000), (50, 2000)]:
            out.append(sweep(f"{name}, d = {d}", n, 200 if quick else int(work) // (n * d), d=d, distribution="ball-margin",
                             margin=1e-6, algorithms=[algorithm], **halfspace))
    rows, trials = (2000, 50) if quick else (10**6, 300)
    out.append(sweep(f"data, {rows:,} rows of 50 numbers", 400, trials, algorithms=["centering"], alpha=0.25,
                     d=50, rows=rows, data={"label": "y", "positive": "+1", "scale": 900}, **halfspace))
    if adult:
        out.append(sweep("logistic regression on adult", 400, 40 if quick else 3000, algorithms=["logistic"],
                         alpha=0.2, file=os.path.abspath(adult), data=ADULT, **halfspace))
    return out


def shatter_side(binary, e, jobs, seed, folder):
    """Writes the sweep file of an experiment and returns the command that runs it, and its output folder."""
    grids = []
    for part in e.get("parts", [e]):
        if "file" in e:
            fields = {"class": e["class"], "data": {"file": e["file"], **e["data"]}}
        else:
            keys = ("class", "domain", "d", "mass", "margin")
            fields = {**{k: part[k] for k in keys if k in part}, "distribution": e["distribution"]}
        grids.append({"problem": fields, "n": [part["n"]], "trials": part["trials"]})
    privacy = {k: e[k] for k in ("epsilon", "delta") if k in e}
    goal = {"alpha": e["alpha"], "beta": e["beta"], "reference": 0}
    algorithms = [ALGORITHMS[a] for a in e["algorithms"]]
    file, out = os.path.join(folder, "sweep.yaml"), os.path.join(folder, "out")
    plugins = []
    if "logistic" in e["algorithms"]:
        plugins.append(os.path.join(folder, "linear"))
        subprocess.run([binary, "plugin", "build", LINEAR, "--out", plugins[0]], check=True, capture_output=True)
    with open(file, "w") as f:  # JSON is YAML
        json.dump({"name": "compare", "task": "learn", "seed": seed, "plugins": plugins, "algorithms": algorithms,
                   "privacy": privacy, "goal": goal, "grids": grids}, f)
    return [binary, "run", file, "--out", out, "--workers", str(jobs), "--cache", "off", "--quiet"], out


def rates(binary, e, out):
    """Reads what a run of Shatter found, by cell."""
    command = [binary, "table", out, "--what", "curve", "-o", "json"]
    text = subprocess.run(command, check=True, capture_output=True).stdout
    names, found = {v["as"] if isinstance(v, dict) else v: k for k, v in ALGORITHMS.items()}, {}
    for row in json.loads(text):
        half = (row["error_high"] - row["error_low"]) / 2  # of a 95 % interval
        cell = names[row["algorithm"]] + (f", d = {row['d']}" if "parts" in e else "")
        found[cell] = {
            "trials": row["trials"], "successes": 3 * [row["successes"]], "mean": row["error_mean"],
            "se": half / statistics.NormalDist().inv_cdf(0.975)}
    return found


def timed(command):
    """Runs a command and returns its output and the seconds that it took: by the clock, and of all cores together."""
    keep = {k: v for k, v in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}
    one = {k: "1" for k in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")}
    began = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errs:
        child = subprocess.Popen(command, stdout=out, stderr=errs, env={**keep, **one})
        _, status, usage = os.wait4(child.pid, 0)
        clock = time.monotonic() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0), errs.seek(0)
        if child.returncode != 0:
            sys.exit(f"exit code {child.returncode} of {' '.join(command)}:\n{errs.read().decode()}")
        return out.read().decode(), (clock, usage.ru_utime + usage.ru_stime)


def measure(side, binary, e, jobs, seed):
    """Runs one side of an experiment and returns what it found and what that cost."""
    with tempfile.TemporaryDirectory() as folder:
        if side == "Shatter":
            command, out = shatter_side(binary, e, jobs, seed, folder)
            _, cost = timed(command)
            return rates(binary, e, out), cost
        if "file" in e:  # what a side makes of the file is its own
            own = os.path.join(folder, "data.csv")
            os.symlink(e["file"], own)
            e = {**e, "file": own}
        command = [sys.executable, os.path.abspath(__file__), "--side", side, json.dumps(e), str(jobs), str(seed)]
        text, cost = timed(command)
        return json.loads(text), cost


def differences(e, found, limit):
    """Says where a side differs from Shatter by more than limit standard errors: in the rate of success, which may be
    the other side's at any goal within the slack, and in the mean error, which has no slack."""
    out, ours = [], found.pop("Shatter")
    for side, theirs in found.items():
        for _, _, a in cells(e):
            n, s, (low, same, high) = ours[a]["trials"], ours[a]["successes"][0], theirs[a]["successes"]
            pooled = (s + same + 1) / (2 * n + 2)  # never 0 and never 1
            if max(low - s, s - high) / n > limit * math.sqrt(pooled * (1 - pooled) * 2 / n):
                out.append(f"{e['name']}, {a}: {s} of {n} trials succeed with Shatter, {same} with {side}")
            gap = abs(ours[a]["mean"] - theirs[a]["mean"])
            if gap > limit * math.hypot(ours[a]["se"], theirs[a]["se"]) + 1e-12:
                out.append(f"{e['name']}, {a}: the mean error is {ours[a]['mean']:.6f} with Shatter, "
                           f"{theirs[a]['mean']:.6f} with {side}")
    return out


# Sides by what they are called in the table, and the package that each needs.
SIDES = {"joblib": "joblib", "multiprocessing": None, "dask": "distributed", "one by one": "joblib", "R": None}


def here(side):
    """Reports whether the package of a side is installed, and says so if not."""
    if side == "R" and not shutil.which("Rscript"):
        print("left out: R needs Debian's r-base-core", file=sys.stderr)
        return False
    try:
        SIDES[side] and importlib.import_module(SIDES[side])
    except ImportError:
        print(f"left out: {side} needs Debian's python3-{SIDES[side]}", file=sys.stderr)
        return False
    return True


def able(side, e):
    """Reports whether a side has a program for an experiment."""
    return side != "R" or e.get("class") == "thresholds"


def versions(binary, sides, jobs):
    """Describes the machine and what was compared."""
    model = platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo") as f:
            model = next((line.split(":")[1].strip() for line in f if line.startswith("model name")), model)
    packages = sorted({SIDES[s] for s in sides if SIDES.get(s)})
    parts = [subprocess.run([binary, "version"], capture_output=True, text=True).stdout.split("\n")[0],
             "Python " + platform.python_version(), "numpy " + np.__version__]
    parts += [f"{p} {importlib.import_module(p).__version__}" for p in packages]
    if "R" in sides:
        text = subprocess.run(["Rscript", "--version"], capture_output=True, text=True)
        parts.append((text.stdout + text.stderr).strip().replace("Rscript (R) version", "R"))
    load = ", load average at the start %.1f" % os.getloadavg()[0]
    return f"{model}, {jobs} of {os.cpu_count()} cores{load}; {'; '.join(p for p in parts if p)}."


def ratio(costs, side, k):
    """Returns the median over the rounds of what a side took for each second of Shatter."""
    return statistics.median(theirs[k] / ours[k] for ours, theirs in zip(costs["Shatter"], costs[side]))


def rounds(args, e, sides, limit):
    """Runs the rounds of an experiment and returns what they cost by side, and how many results differ."""
    costs, wrong = {side: [] for side in sides}, 0
    for r in range(args.rounds):
        found, turn = {}, r % len(sides)
        for side in sides[turn:] + sides[:turn]:
            found[side], cost = measure(side, args.shatter, e, args.jobs, r + 1)
            costs[side].append(cost)
        for difference in differences(e, found, limit):
            print(f"DIFFERENT: {difference}", file=sys.stderr)
            wrong += 1
    return costs, wrong


def compare(args):
    for side in args.sides.split(","):
        if side not in SIDES:
            sys.exit(f"no side is called {side!r}: use some of {', '.join(SIDES)}")
    sides = ["Shatter"] + [s for s in args.sides.split(",") if here(s)]
    chosen = [e for e in experiments(args.quick, args.adult) if args.only in e["name"]]
    if not chosen:
        sys.exit(f"no experiment has {args.only!r} in its name")
    tests = 2 * args.rounds * sum(len(cells(e)) for e in chosen for s in sides[1:] if able(s, e))
    if not tests:
        sys.exit(f"none of {', '.join(sides[1:])} has a program for {args.only!r}")
    limit = statistics.NormalDist().inv_cdf(1 - LEVEL / tests / 2)
    print(versions(args.shatter, sides, args.jobs) + "\n")
    print(f"| trials/s | {' | '.join(sides)} | fastest other, clock | CPU |")
    print("| --- |" + " ---: |" * (len(sides) + 2), flush=True)
    wrong = 0
    for e in chosen:
        with tempfile.TemporaryDirectory() as folder:
            if "rows" in e:
                e["file"] = os.path.join(folder, "data.csv")
                write_data(e, e["file"])
            costs, found_wrong = rounds(args, e, [s for s in sides if able(s, e)], limit)
        wrong += found_wrong
        trials = sum(part["trials"] for part, _, _ in cells(e))
        speeds = [f"{trials / statistics.median(c[0] for c in costs[s]):,.{0 if trials > 1000 else 1}f}" if s in costs
                  else "" for s in sides]
        best = [f"{min(ratio(costs, s, k) for s in costs if s != 'Shatter'):.2f}" for k in (0, 1)]
        print(f"| {e['name']} | {' | '.join(speeds + best)} |", flush=True)
    if wrong:
        sys.exit(f"the sides disagree: {wrong} of {tests} two-sided tests, level {LEVEL:g} in all; each is named above")
    print(f"\nAll sides found the same success rates and mean errors: {tests} two-sided tests, level {LEVEL:g} in all.")


def main():
    if sys.argv[1:2] == ["--side"]:  # a command of one side
        _, _, side, e, jobs, seed = sys.argv
        print(json.dumps(numpy_side(side, json.loads(e), int(jobs), int(seed))))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shatter", help="the built binary")
    parser.add_argument("--quick", action="store_true", help="a few trials of each, to see that everything works")
    parser.add_argument("--rounds", type=int, help="how often each side runs (default 5; 1 with --quick)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(),
                        help="processes of each side (default: one per core)")
    parser.add_argument("--sides", default=",".join(SIDES), help="what Shatter is compared with (default: %(default)s)")
    parser.add_argument("--adult", metavar="FILE", help="the UCI data set adult, a CSV file with a header line: adds "
                        "logistic regression on it, which needs scikit-learn")
    parser.add_argument("--only", default="", metavar="NAME", help="only the experiments with this in their name")
    args = parser.parse_args()
    args.shatter, args.rounds = os.path.abspath(args.shatter), args.rounds or (1 if args.quick else 5)
    compare(args)


if __name__ == "__main__":
    main()
