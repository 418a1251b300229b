"""Tests of the SDK and the client that need no host and no program."""
import dataclasses
import functools
import json
import math
import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import numpy as np

import shatter
from shatter import _service
from shatter import plugin_pb2 as pb


@dataclasses.dataclass
class Params:
    noise: float = shatter.param(0.5, min=0, max=1, doc="noise")
    rounds: int = shatter.param(3, min=1)
    mode: str = shatter.param("a", choices=["a", "b"])
    flip: bool = False


def make(**methods):
    """Return an algorithm with the given methods."""
    metrics = methods.pop("metrics", {})
    params = methods.pop("params", None)
    return shatter.algorithm("test/it", version="1", params=params, metrics=metrics)(type("It", (), methods))


def fields(**kinds):
    """Return a dataclass with one field."""
    return dataclasses.make_dataclass("P", [(name, kind, default) for name, (kind, default) in kinds.items()])


class Definitions(unittest.TestCase):
    def test_refused(self):
        learn = {"learn": lambda self, trial, x, y: None}
        for says, define in {
            "family/name": lambda: shatter.algorithm("mean", version="1")(type("A", (), learn)),
            "no version": lambda: shatter.algorithm("a/b", version="")(type("A", (), learn)),
            "nothing that it can do": lambda: make(),
            "a dataclass is needed": lambda: make(params=int, **learn),
            "is not supported": lambda: make(params=fields(a=(list, None)), **learn),
            "lower case letters": lambda: make(params=fields(A=(int, 1)), **learn),
            "word of the sweep file": lambda: make(params=fields(use=(int, 1)), **learn),
            "no default": lambda: make(params=dataclasses.make_dataclass("P", [("a", int)]), **learn),
            "below the smallest": lambda: make(params=fields(a=(int, shatter.param(0, min=1))), **learn),
            "only numbers have limits": lambda: make(params=fields(a=(str, shatter.param("", min=1))), **learn),
            "metric 'M'": lambda: make(metrics={"M": ""}, **learn),
            "declares is 'yes'": lambda: make(declares="yes", **learn),
            "at most 16": lambda: make(metrics={f"m{i}": "" for i in range(17)}, **learn),
        }.items():
            with self.subTest(says), self.assertRaisesRegex(ValueError, says):
                define()

    def test_values(self):
        of = {p.name: p for p in make(params=Params, learn=print).parameters}
        for name, given, want in [("noise", 1, 1.0), ("noise", 0.25, 0.25), ("rounds", 4.0, 4), ("mode", "b", "b"), ("flip", True, True)]:
            self.assertEqual((type(want), want), (type(of[name].value(given)), of[name].value(given)))
        for name, given in [("noise", 2), ("noise", float("nan")), ("noise", True), ("noise", "1"), ("rounds", 0), ("rounds", 1.5),
                            ("mode", "c"), ("mode", 1), ("flip", 1), ("flip", None)]:
            with self.subTest(f"{name} = {given}"), self.assertRaises(shatter.Invalid):
                of[name].value(given)

    def test_nothing_is_kept(self):
        def learn(self, trial, x, y):
            self.kept = x

        with self.assertRaisesRegex(AttributeError, "kept from trial to trial"):
            make(learn=learn).learn(shatter.Trial(), None, None)


class Randomness(unittest.TestCase):
    def test_seeds(self):
        draws = [shatter.Trial._of({}, *seed, None).rand.random() for seed in [(0, 0), (0, 1), (1, 0), (2**64 - 1, 5)]]
        self.assertEqual(4, len(set(draws)))
        self.assertEqual(draws[1], shatter.Trial(seed=1).rand.random())

    def test_uniform(self):
        first = np.array([shatter.Trial(seed=i).rand.random() for i in range(4000)])  # as good as one stream's
        self.assertLess(abs(first.mean() - 0.5), 0.02)
        self.assertLess(abs(np.corrcoef(first[1:], first[:-1])[0, 1]), 0.06)


class Sessions(unittest.TestCase):
    def run_trials(self, algorithm, trials=3, n=2, **problem):
        """Let trials learn from a sample and answer two points each; return the responses and the answers."""
        service = _service.Service([algorithm], "test")
        memory = np.arange(1.0, 101.0)
        memory.flags.writeable = False
        service.memory = {pb.Table.PLACE_SESSION: memory}
        session = _service.Session(service)
        rows = trials * n
        sample = pb.Table(place=pb.Table.PLACE_SESSION, rows=rows, dim=1, x_at=8, y_at=8 * (1 + rows))
        setting = pb.Setting(algorithm="test/it", task=pb.TASK_LEARN, n=n, problem=pb.Problem(dim=1, **problem))
        opened = session.answer(pb.SessionRequest(open=pb.Open(setting=setting, seeds=range(2 * trials), sample=sample)))
        points = pb.Table(place=pb.Table.PLACE_SESSION, rows=2 * trials, dim=1, x_at=8)
        answers = session.answer(pb.SessionRequest(step=pb.Step(counts=[2] * trials, points=points)))
        closed = session.answer(pb.SessionRequest(close=pb.Close()))
        return opened.opened, answers.answers, closed.closed, session.values

    def test_answers_and_metrics(self):
        def learn(self, trial, x, y):
            trial.report("first", x[0, 0])
            return lambda x: x[:, 0] > 3

        opened, _, closed, values = self.run_trials(make(learn=learn, metrics={"first": ""}))
        self.assertFalse(opened.faults)
        self.assertEqual([0, 0, 1, 1, 1, 1], values.tolist())
        self.assertEqual([2, 4, 6], np.frombuffer(closed.metrics["first"]).tolist())

    def test_one_trial_fails(self):
        for learn, kind, says in [
            (lambda self, trial, x, y: len(x) / 0, pb.Fault.KIND_PANIC, "ZeroDivisionError"),
            (lambda self, trial, x, y: trial.report("no", 1) or np.sign, pb.Fault.KIND_PANIC, "not among the algorithm's metrics"),
            (lambda self, trial, x, y: trial.report("m", np.inf), pb.Fault.KIND_ERROR, "metric 'm' is inf"),
            (lambda self, trial, x, y: x.fill(0), pb.Fault.KIND_PANIC, "read-only"),
            (lambda self, trial, x, y: exit(3), pb.Fault.KIND_PANIC, "SystemExit: 3"),
            (lambda self, trial, x, y: 5, pb.Fault.KIND_PANIC, "return a function of points"),
        ]:
            with self.subTest(says):
                opened, _, _, values = self.run_trials(make(learn=learn, metrics={"m": ""}))
                self.assertEqual(3, len(opened.faults))
                self.assertEqual(kind, opened.faults[0].kind)
                self.assertRegex(opened.faults[0].message, says)
                self.assertTrue(np.isnan(values).all())

    def test_wrong_answers(self):
        for model, says in [
            (lambda x: x, r"2 points were answered with an array of the shape \(2, 1\)"),
            (lambda x: 1.0, r"of the shape \(\)"),
            (lambda x: ["a", "b"], "could not convert"),
        ]:
            with self.subTest(says):
                _, answers, _, _ = self.run_trials(make(learn=lambda self, trial, x, y: model))
                self.assertRegex(answers.faults[0].message, says)
                self.assertEqual("", answers.faults[2].message if answers.faults[1].message == "" else "")

    def test_declares(self):
        def learn(self, trial, x, y):
            return {2: shatter.Threshold(5), 4: lambda x: x[:, 0] > 4, 6: shatter.Interval(0, 3), 8: shatter.Threshold(7)}[x[0, 0]]

        opened, _, _, values = self.run_trials(make(learn=learn), trials=4)
        self.assertFalse(opened.faults)
        got = [(d.kind, list(d.trials), np.frombuffer(d.numbers, "<f8").tolist()) for d in opened.declared]
        self.assertEqual([("threshold", [0, 3], [5, 7]), ("interval", [2], [0, 3])], got)
        self.assertEqual([-1, -1, 0, 1, -1, -1, 1, 1], values.tolist())

    def test_a_declaration_that_does_not_fit(self):
        for model, says in [
            (lambda: shatter.Threshold(np.nan), "ValueError: a threshold: number 0 is NaN"),
            (lambda: shatter.Halfspace([1, 2]), "^a halfspace on points of 2 numbers: the points of this problem have 1$"),
            (lambda: shatter.Stump(1, 0, 1), "^a stump: axis 1: use a whole number from 0 to 0$"),
            (lambda: shatter.Row(2), "^a row: i = 2: use a whole number from 0 to 1$"),
        ]:
            with self.subTest(says):
                def learn(self, trial, x, y):
                    return model() if x[0, 0] == 4 else shatter.Row(1)

                opened, _, _, values = self.run_trials(make(learn=learn), domain=8, matrix="00000000" "01010101")
                self.assertEqual([1], [f.trial for f in opened.faults])
                self.assertRegex(opened.faults[0].message, says)
                self.assertEqual([("row", [0, 2])], [(d.kind, list(d.trials)) for d in opened.declared])
                self.assertEqual([-1, 1, -1, 1], values[np.isfinite(values)].tolist())

    def test_a_traceback_shows_the_author(self):
        def learn(self, trial, x, y):
            raise ValueError("no luck")

        opened, _, _, _ = self.run_trials(make(learn=learn))
        self.assertRegex(opened.faults[0].message, r"(?s)^ValueError: no luck\n\n.*tests.py.*raise ValueError")
        self.assertNotIn("_service.py", opened.faults[0].message)
        self.assertEqual(["", ""], [f.message for f in opened.faults[1:]])  # the same text, once


class Batches(unittest.TestCase):
    """Trials that learn at once: each gets what it gets alone."""

    def answers(self, algorithm, seeds, counts, shared):
        """Return what trials with these seeds answer to points, by seed. A sample is a function of the seed."""
        service = _service.Service([algorithm], "test")
        n, rows, asked = 3, 3 * len(seeds), 4 if shared else sum(counts)
        x = np.concatenate([np.arange(3.0) + 2 * s for s in seeds])
        y = np.where(x % 3 > 0, 1.0, -1.0)
        points = np.arange(4.0) * 3 if shared else np.concatenate([np.arange(c) * 1.5 + s for s, c in zip(seeds, counts)])
        memory = np.concatenate([x, y, points])
        memory.flags.writeable = False
        service.memory = {pb.Table.PLACE_SESSION: memory}
        session, place = _service.Session(service), pb.Table.PLACE_SESSION
        session.answer(pb.SessionRequest(open=pb.Open(
            setting=pb.Setting(algorithm="test/it", task=pb.TASK_LEARN, n=n, problem=pb.Problem(dim=1, domain=64)),
            seeds=[w for s in seeds for w in (7, s)], sample=pb.Table(place=place, rows=rows, dim=1, y_at=8 * rows))))
        session.answer(pb.SessionRequest(step=pb.Step(
            counts=counts, shared=shared, points=pb.Table(place=place, rows=asked, dim=1, x_at=16 * rows))))
        ends = np.cumsum(counts)
        return {s: session.values[e - c:e].tolist() for s, c, e in zip(seeds, counts, ends)}, session.faults

    def test_company(self):
        class One:
            def learn_many(self, trials, x, y):
                at = (x[:, :, 0] * (y > 0)).sum(1) / 3 + shatter.uniforms(trials, 2)[:, 1]
                return lambda which, x: np.where(x[:, :, 0] >= at[which][:, None], 1.0, -1.0)

        class Declares(One):
            def learn_many(self, trials, x, y):
                at = (x[:, :, 0] * (y > 0)).sum(1) / 3 + shatter.uniforms(trials, 2)[:, 1]
                return [shatter.Threshold(t) for t in at]

        for cls in (One, Declares):
            it = shatter.algorithm("test/it", version="1")(cls)
            for counts, shared in ([4] * 5, True), ([3] * 5, False), ([3, 0, 2, 3, 2], False), ([0, 0, 2, 2, 0], False):
                together, faults = self.answers(it, [1, 2, 3, 4, 5], counts, shared)
                self.assertFalse(faults)
                for seed, count in zip([1, 2, 3, 4, 5], counts):
                    alone, _ = self.answers(it, [seed], [count], shared)
                    self.assertEqual(alone[seed], together[seed])
                backwards, _ = self.answers(it, [5, 4, 3, 2, 1], counts[::-1], shared)
                self.assertEqual(together, backwards)

    def test_one_of_them_fails(self):
        class Fails:
            def learn_many(self, trials, x, y):
                if (x == 6).any():
                    raise ValueError("a six")
                return lambda which, x: np.ones((len(which), x.shape[1] if (x < 50).all() else 7))

        it = shatter.algorithm("test/it", version="1")(Fails)
        got, faults = self.answers(it, [1, 3, 60], [2, 2, 2], False)
        self.assertEqual([1, 1], got[1])
        self.assertTrue(np.isnan(got[3]).all() and np.isnan(got[60]).all(), got)

    def test_uniforms(self):
        u = shatter.uniforms([shatter.Trial(seed=i) for i in range(4000)], 3)
        self.assertEqual(u[7].tolist(), shatter.uniforms([shatter.Trial(seed=7)], 3)[0].tolist())
        self.assertEqual(12000, len(np.unique(u)))
        self.assertLess(abs(u.mean() - 0.5), 0.01)
        self.assertLess(np.abs(np.corrcoef(u.T) - np.eye(3)).max(), 0.06)
        self.assertLess(abs(np.corrcoef(u[1:, 0], u[:-1, 0])[0, 1]), 0.06)


class Problems(unittest.TestCase):
    def service(self, sample=None, **methods):
        def default(self, params, target, rng, n):
            x = rng.uniform(-1, 1, (n, 2))
            return x, np.where(x[:, 0] >= target, 1.0, -1.0)

        parts = {"pose": lambda self, params: shatter.Posed(dim=2, least_error=0.25), "sample": sample or default,
                 "target": lambda self, params, rng: rng.uniform(-1, 1), **methods}
        made = shatter.problem("test/sides", version="1", params=fields(size=(int, 3)))(type("Sides", (), parts))
        return _service.Service([made], "test")

    def draw(self, service, counts, size=3):
        words = range(2 * len(counts))
        setting = pb.Setting(algorithm="test/sides", task=pb.TASK_PROBLEM, parameters={"size": pb.Value(int=size)})
        return service.draw(pb.DrawRequest(setting=setting, targets=[7 + w for w in words], points=words, counts=counts))

    def test_facts(self):
        service = self.service()
        checked = service.check(pb.Setting(algorithm="test/sides", task=pb.TASK_PROBLEM))
        self.assertEqual((checked.posed.dim, checked.posed.least_error, checked.parameters["size"].int), (2, 0.25, 3))
        self.assertEqual(list(service.describe().algorithms[0].tasks), [pb.TASK_PROBLEM])

    def test_draws(self):
        both = self.draw(self.service(), [5, 7])
        x, y = np.frombuffer(both.x).reshape(-1, 2), np.frombuffer(both.y, np.uint8)
        self.assertEqual((len(x), len(y), set(y) <= {0, 1}), (12, 12, True))
        self.assertEqual(both, self.draw(self.service(), [5, 7]))
        self.assertEqual(both.x[:80], self.draw(self.service(), [5]).x)  # a draw does not depend on the others

    def test_errors(self):
        for sample, words in ((lambda s, p, t, r, n: (np.zeros((n, 3)), np.ones(n)), "points of shape (4, 3)"),
                              (lambda s, p, t, r, n: (np.zeros((n, 2)), np.zeros(n)), "label 0.0, neither -1 nor +1"),
                              (lambda s, p, t, r, n: 1 // 0, "ZeroDivisionError")):
            self.assertIn(words, self.draw(self.service(sample), [4]).refusal.message)
        with self.assertRaisesRegex(ValueError, "it has no target and no sample"):
            shatter.problem("test/sides", version="1")(type("Sides", (), {"pose": None}))
        self.assertIn("no algorithm 'x'", self.service().draw(pb.DrawRequest(setting=pb.Setting(algorithm="x"))).refusal.message)


class Hypotheses(unittest.TestCase):
    def test_labels(self):
        line = np.arange(4.0)[:, None]
        plane = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
        for h, x, want in [
            (shatter.Threshold(2), line, [-1, -1, 1, 1]),
            (shatter.Point(1), line, [-1, 1, -1, -1]),
            (shatter.Interval(1, 2), line, [-1, 1, 1, -1]),
            (shatter.Interval(2, 1), line, [-1, -1, -1, -1]),
            (shatter.Rectangle([0, 1], [0, 9]), plane, [-1, 1, -1, -1]),
            (shatter.Stump(1, 1, -1), plane, [1, -1, 1, -1]),
            (shatter.Parity([1, 1]), plane, [-1, 1, 1, -1]),
            (shatter.Parity([0, 0]), plane, [-1, -1, -1, -1]),
            (shatter.Conjunction([-1, 1]), plane, [-1, 1, -1, -1]),
            (shatter.Conjunction([0, 0]), plane, [1, 1, 1, 1]),
            (shatter.Halfspace([1, -1]), plane, [1, -1, 1, 1]),
            (shatter.Halfspace(np.array([[1.0, 1.0]]), np.array([-1.5])), plane, [-1, -1, -1, 1]),
            (shatter.Halfspace([0, 0], -0.0), plane, [1, 1, 1, 1]),
            (shatter.Constant(-1), plane, [-1, -1, -1, -1]),
        ]:
            with self.subTest(f"{h.kind} {h.numbers}"):
                self.assertEqual(want, h.predict(x).tolist())

    def test_refused(self):
        for says, define in {
            "threshold: t has the shape": lambda: shatter.Threshold([1, 2]),
            "rectangle: low has 1 numbers, and high has 2": lambda: shatter.Rectangle([1], [1, 2]),
            "stump: axis = 0.5": lambda: shatter.Stump(0.5, 1, 1),
            "stump: axis = -1": lambda: shatter.Stump(-1, 1, 1),
            "stump: sign 0.0": lambda: shatter.Stump(0, 1, 0),
            "stump: number 1 is NaN": lambda: shatter.Stump(0, np.nan, 1),
            "parity: number 1 is 2.0: use 0 or 1": lambda: shatter.Parity([1, 2]),
            "conjunction: number 0 is 0.5: use 1, -1 or 0": lambda: shatter.Conjunction([0.5]),
            "row: i = -1": lambda: shatter.Row(-1),
            r"halfspace: w has the shape \(3, 2\)": lambda: shatter.Halfspace(np.ones((3, 2))),
            r"halfspace: w has the shape \(0,\)": lambda: shatter.Halfspace([]),
            r"halfspace: b has the shape \(2,\)": lambda: shatter.Halfspace([1, 2], [1, 2]),
            "halfspace: number 2 is inf": lambda: shatter.Halfspace([1, 2], np.inf),
            "halfspace: number 1 is NaN": lambda: shatter.Halfspace([1, np.nan]),
            "constant: sign 2.0": lambda: shatter.Constant(2),
            "could not convert": lambda: shatter.Point("a"),
            "it can predict once learn has returned it": lambda: shatter.Row(0).predict(np.zeros((1, 1))),
        }.items():
            with self.subTest(says), self.assertRaisesRegex(ValueError, says):
                define()

    def test_keeps_nothing_borrowed(self):
        w = np.ones(2)
        h = shatter.Halfspace(w)
        w[:] = -1
        self.assertEqual([1, 1, 0], h.numbers.tolist())


class Promises(unittest.TestCase):
    def ask(self, task=pb.TASK_LEARN, formula=True, alpha=0.1, **methods):
        """Return the answer of an algorithm that states how many points an error is measured on."""
        def bound(self, setting):
            return [shatter.Bound("test", "none", setting.test)]

        service = _service.Service([make(learn=print, online=print, bound=bound, **methods)], "test")
        setting = pb.Setting(algorithm="test/it", task=task, test=500, alpha=alpha, problem=pb.Problem(dim=1, formula=formula))
        answer = service.ask(pb.AskRequest(settings=[setting])).answers[0]
        return answer.check.declares, answer.bound.bounds[0].value

    def test_declares(self):
        def low_alpha(self, setting):
            return setting.alpha < 0.2

        self.assertEqual((False, 500), self.ask())
        self.assertEqual((True, 0), self.ask(declares=True))
        self.assertEqual((True, 500), self.ask(declares=True, formula=False))
        self.assertEqual((False, 500), self.ask(declares=True, task=pb.TASK_ONLINE))
        self.assertEqual((True, 0), self.ask(declares=low_alpha))
        self.assertEqual((False, 500), self.ask(declares=low_alpha, alpha=0.3))


class Bounds(unittest.TestCase):
    def test_unit(self):
        def bound(self, setting):
            return [shatter.Bound("a", "s", 3, unit=shatter.MISTAKES), shatter.Bound("b", "s", 4)]

        service = _service.Service([make(online=print, bound=bound)], "test")
        r = service.bound(pb.Setting(algorithm="test/it", task=pb.TASK_ONLINE))
        self.assertEqual([("a", "mistakes"), ("b", "")], [(b.name, b.unit) for b in r.bounds])


class Texts(unittest.TestCase):
    def test_cut(self):
        for given, want in [("short", "short"), ("ä" * 4000, "ä" * 2046 + "..."), ("\ud800", "?")]:
            self.assertEqual(want, _service.text(given))


SHIFT, LIVE = 2, [object()]


def shifted(x):
    return x + SHIFT


@shatter.learner(privacy="pure")
def captured(trial, x, y, *, steps=3):
    def inner(t):
        SHIFTED = shifted(t)
        return SHIFTED

    return shatter.Threshold(inner(math.floor(np.mean(x))) + steps)


def refused(trial, x, y):
    return LIVE


class Learners(unittest.TestCase):
    def text(self, algorithm):
        from shatter._client import _capture
        return _capture.plugin_text(algorithm)[0]

    def test_captured(self):
        text = self.text(captured)
        for part in ("import math\nimport numpy as np\nimport shatter\n\nSHIFT = 2\n\n\ndef shifted(x)", "shatter.serve(captured)"):
            self.assertIn(part, text)
        self.assertEqual(["steps"], [p.name for p in captured.parameters])
        served = {}
        exec(compile(text.replace("__main__", "no"), "cell", "exec"), served)
        x = np.arange(4.0)[:, None]
        trial = shatter.Trial(params=captured.params(steps=4))
        self.assertEqual(captured.learn(trial, x, x[:, 0]).numbers, served["captured"].learn(trial, x, x[:, 0]).numbers)
        self.assertEqual((0.5, True), (lambda g: (g.epsilon, g.pure))(captured.guarantee(shatter.Setting(epsilon=0.5))))

    def test_refused(self):
        from shatter._client import _capture
        live, twice = object(), lambda x: 2 * x
        for says, make in {
            "uses 'LIVE', a list that lives in this session alone. Compute": lambda: shatter.learner()(refused),
            "uses 'live', a object": lambda: shatter.learner()(self.closure(live)),
            "use def instead of lambda": lambda: shatter.learner()(self.closure(twice)),
            "cannot be written to a plugin file": lambda: shatter.sklearn(Estimator(functools.partial(print))),
            "is a class: write it to a plugin file": lambda: make_learner(),
        }.items():
            with self.subTest(says), self.assertRaisesRegex(shatter.CaptureError, says):
                self.text(make())
        with self.assertRaisesRegex(shatter.CaptureError, "put the decorator @shatter.learner"):
            _capture.with_plugins({"algorithms": [refused]}, "out", print)
        with self.assertRaisesRegex(ValueError, "use 'pure', 'approximate' or None"):
            shatter.learner("yes")(refused)

    def closure(self, live):
        def inner(trial, x, y):
            return live

        return inner

    def test_names_replace_learners(self):
        from shatter._client import _capture
        sweep, built = {"grids": [{"algorithms": [{"use": captured, "steps": [1, 2]}, "a/b"]}]}, []
        with tempfile.TemporaryDirectory() as folder:
            got = _capture.with_plugins(sweep, os.path.join(folder, "out.plugins"), lambda *args: built.append(args))
        self.assertEqual([{"use": "notebook/captured", "steps": [1, 2]}, "a/b"], got["grids"][0]["algorithms"])
        self.assertEqual(captured, sweep["grids"][0]["algorithms"][0]["use"])
        self.assertTrue(got["plugins"][0].endswith("out.plugins/notebook_captured"))
        self.assertEqual(1, len(built))


def make_learner():
    return make(learn=print)


class Estimator:
    """Looks like an estimator of scikit-learn."""

    def __init__(self, f=None):
        self.f = f

    def get_params(self, deep=True):
        return {"f": self.f}


class Client(unittest.TestCase):
    def test_a_plugin_does_not_load_the_client(self):
        code = "import sys, shatter; sys.exit(any(m in sys.modules for m in ('shatter._client', 'grpc', 'sklearn', 'pyarrow')))"
        self.assertEqual(0, subprocess.run([sys.executable, "-c", code]).returncode)

    def test_errors(self):
        from shatter._client import _errors
        text = ('shatter: a b.yaml seed=2:3:18: problem.class: unknown value "threshold", did you mean "thresholds"?\n'
                "a b.yaml seed=2:6:8: n[1]: -3 is outside [1, 10]\nand 2 more\n")
        error = _errors.failure(2, text)
        self.assertEqual([("a b.yaml seed=2", 3, 18, "problem.class", "thresholds"), ("a b.yaml seed=2", 6, 8, "n[1]", "")],
                         [(d.file, d.line, d.column, d.path, d.hint) for d in error.diagnostics])
        for code, result, kind in [(1, 5, shatter.Unfinished), (1, None, shatter.ShatterError), (2, None, shatter.UsageError),
                                   (3, 5, shatter.IntegrityError), (5, None, shatter.Changed), (6, 5, shatter.Refuted)]:
            error = _errors.failure(code, "shatter: no luck\n", result)
            self.assertEqual((kind, "no luck", result), (type(error), str(error), error.result))

    def test_no_program(self):
        from shatter import _client
        with mock.patch.dict(os.environ, {"SHATTER": ""}), mock.patch("shutil.which", return_value=None):
            with self.assertRaisesRegex(shatter.UsageError, r"set \$SHATTER"):
                _client.binary()

    def test_arguments(self):
        from shatter import _client
        self.assertEqual(["--plugin-env=A", "--plugin-env=B", "--fresh", "--workers=2"],
                         _client._flags({"plugin_env": ["A", "B"], "fresh": True, "redo": False, "log": None, "workers": np.int64(2)}))
        args, stdin = _client._sweep({"n": np.array([1, 2]), "seed": np.int64(3)}, {"problem.domain": [4, 5]}, None)
        self.assertEqual((["-", "problem.domain=[4, 5]"], {"n": [1, 2], "seed": 3}), (args, json.loads(stdin)))
        sql = _client.Result._sql({"algorithm": ["a'b", "c"], "epsilon": np.float64(0.5)})
        self.assertEqual(""" where "algorithm" in ('a''b', 'c') and "epsilon" in (0.5)""", sql)


if __name__ == "__main__":
    unittest.main()
