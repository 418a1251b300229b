"""Runs sweeps through the client, in the present folder. $SHATTER is the program."""
import doctest
import json
import os
import subprocess
import sys
import time

import numpy as np

import shatter

SWEEP = {
    "name": "compare", "task": "learn", "seed": 3,
    "problem": {"class": "thresholds", "domain": [64, 256], "distribution": "uniform"},
    "algorithms": ["expmech/em", "baseline/erm"], "privacy": {"epsilon": [0.5, 1]},
    "goal": {"alpha": 0.1, "beta": 0.1}, "n": [10, 40, 160], "trials": 100,
}


def steps(x):
    return np.unique(x[:, 0])


@shatter.learner(declares=True)
def mine(trial, x, y, *, shift=0):
    "The first threshold with the fewest mistakes."
    candidates = np.append(steps(x), x[:, 0].max() + 1)
    errors = [np.sum((x[:, 0] >= t) != (y > 0)) for t in candidates]
    return shatter.Threshold(candidates[int(np.argmin(errors))] + shift)


def raises(kind, call):
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}")


def command_line_and_python_agree():
    with open("compare.json", "w") as f:
        json.dump(SWEEP, f)
    subprocess.run([os.environ["SHATTER"], "run", "compare.json", "--quiet", "--out", "cli"], check=True, stdout=subprocess.DEVNULL)
    r = shatter.run(SWEEP)
    want = shatter.open("cli")
    assert r.digest == want.digest != "" and not r.partial, (r, want)
    assert r.table().stream == want.table().stream and len(r.table()) == 6
    t = r.table({"epsilon": 1, "algorithm": "expmech/em"})
    assert t["domain"].tolist() == [64, 256] and t["n_high"].dtype == np.int64, t.rows()
    assert r.table(sort="-domain")["domain"][0] == 256
    erm = r.table({"algorithm": "baseline/erm"})
    assert [row["epsilon"] for row in erm.rows()] == [None, None] and erm["epsilon"].mask.all()
    counted = r.query("select count(*) trials, sum(n) points, avg(error) e, max(kind) best, cast(1.5 as decimal(9, 2)) d from trials")
    assert counted.rows()[0]["trials"] == len(r.trials()) == 1800 and counted["d"][0] == 1.5, counted.rows()
    assert len(r.trials({"algorithm": "expmech/em", "n": [10, 40]})) == 800
    assert len(r.curve()) == 18 and len(r.failures()) == 0 and len(r.bounds()) > 0 and len(r.fits()) >= 0
    assert len(r.query("select * from cells where false")["cell"]) == 0
    assert "all are equal to the last bit" in r.verify()
    assert all(f.name.endswith(".svg") and "Fixed:" in f.caption for f in r.plot("n"))
    assert r.plot("n")[0]._repr_svg_().startswith("<?xml") and "<svg" in r._repr_html_() and "<th>n_high</th>" in r._repr_html_()
    assert "expmech/em" in str(r)
    raises(shatter.UsageError, lambda: r.table({"nothing": 1}))
    assert "nothing" in str(raises(shatter.UsageError, lambda: r.query("select nothing from cells")))
    return r


def pandas_reads(r):
    frame = r.table().pandas()
    assert frame["n_high"].dtype == "Int64" and frame["epsilon"].dtype == "Float64" and frame["algorithm"].dtype == "string"
    assert frame["epsilon"].isna().sum() == 2 and frame.groupby("algorithm")["trials"].sum()["expmech/em"] == 1200


def mistakes():
    error = raises(shatter.SweepError, lambda: shatter.run({**SWEEP, "task": "lern", "n": [5, -3]}))
    assert [(d.path, d.hint) for d in error.diagnostics] == [("task", "learn"), ("n[1]", "")], error.diagnostics
    changed = raises(shatter.Changed, lambda: shatter.run({**SWEEP, "trials": 101}))
    assert "--extend" in str(changed)


def damage(r):
    path = os.path.join(r.dir, "table.csv")
    with open(path, "a") as f:
        f.write("\n")
    error = raises(shatter.IntegrityError, lambda: r.verify(sample=0))
    assert error.result is r


def cancel_and_resume():
    big = {**SWEEP, "name": "big", "algorithms": ["expmech/em", mine], "trials": 250}
    r = shatter.run(big, wait=False, cache="off")
    assert r.running and r.partial
    while not r.progress["trials"]:
        time.sleep(0.05)
    raises(TimeoutError, lambda: r.wait(0.01))
    assert r.cancel().wait() is r and not r.running and "interrupted" in r.partial, r.partial
    r = shatter.run(big, cache="off")
    assert r.summary["trials"] < r.summary["counted"] == 4500 and not r.partial, r.summary  # some were kept
    assert r.digest == shatter.run(big, out="whole", cache="off").digest


def budget():
    r = shatter.run({**SWEEP, "name": "budget"}, budget=100, cache="off")
    assert "budget" in r.partial, r.partial


def learners():
    r = shatter.run({**SWEEP, "name": "shifted", "algorithms": [{"use": mine, "shift": [0, 3]}, "baseline/erm"]})
    t = r.table()
    assert t.rows()[0]["algorithm"] == "notebook/mine", t
    assert (r.curve({"algorithm": "notebook/mine", "n": 160, "shift": 0})["rate"] > 0.9).all()
    error = raises(shatter.Unfinished, lambda: shatter.run({**SWEEP, "name": "fails", "algorithms": [broken]}))
    assert "no luck" in str(error) and len(error.result.failures()) > 0, error


@shatter.learner()
def broken(trial, x, y):
    raise ValueError("no luck")


def estimators():
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    r = shatter.run({
        "name": "estimators", "task": "learn", "problem": {"class": "halfspace", "d": 3, "distribution": "iso", "margin": 0.1},
        "algorithms": [shatter.sklearn(LogisticRegression(C=100, fit_intercept=False)),
                       shatter.sklearn(DecisionTreeClassifier(max_features=1, splitter="random")),
                       shatter.sklearn(make_pipeline(StandardScaler(), LogisticRegression()), name="sklearn/scaled")],
        "goal": {"alpha": 0.1, "beta": 0.1}, "n": [2, 100], "trials": 20,
    }, recheck="all", workers=1)
    got = {row["algorithm"]: row for row in r.curve({"n": 100}).rows()}
    assert got["sklearn/logistic-regression"]["error_mean"] < 0.1, got
    assert r.table({"algorithm": "sklearn/logistic-regression"})["evaluation"][0] == "exact"


def module():
    out = subprocess.run([sys.executable, "-m", "shatter", "version"], check=True, capture_output=True, text=True).stdout
    assert out.startswith("shatter "), out


def page():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "README.md")
    done = doctest.testfile(path, module_relative=False, optionflags=doctest.ELLIPSIS)
    assert done.attempted > 5 and not done.failed


result = command_line_and_python_agree()
if sys.argv[1:] == ["pandas"]:
    pandas_reads(result)
    page()
for part in (mistakes, budget, learners, estimators, cancel_and_resume, module):
    part()
    print(part.__name__, "ok", flush=True)
damage(result)
