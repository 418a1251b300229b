"""Tests of the SDK that need no host."""
import dataclasses
import unittest

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
    def run_trials(self, algorithm, trials=3, n=2):
        """Let trials learn from a sample and answer two points each; return the responses and the answers."""
        service = _service.Service([algorithm], "test")
        memory = np.arange(1.0, 101.0)
        memory.flags.writeable = False
        service.memory = {pb.Table.PLACE_SESSION: memory}
        session = _service.Session(service)
        rows = trials * n
        sample = pb.Table(place=pb.Table.PLACE_SESSION, rows=rows, dim=1, x_at=8, y_at=8 * (1 + rows))
        setting = pb.Setting(algorithm="test/it", task=pb.TASK_LEARN, n=n, problem=pb.Problem(dim=1))
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

    def test_a_traceback_shows_the_author(self):
        def learn(self, trial, x, y):
            raise ValueError("no luck")

        opened, _, _, _ = self.run_trials(make(learn=learn))
        self.assertRegex(opened.faults[0].message, r"(?s)^ValueError: no luck\n\n.*tests.py.*raise ValueError")
        self.assertNotIn("_service.py", opened.faults[0].message)
        self.assertEqual(["", ""], [f.message for f in opened.faults[1:]])  # the same text, once


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


if __name__ == "__main__":
    unittest.main()
