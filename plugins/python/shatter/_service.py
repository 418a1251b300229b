"""Answers the messages of the protocol, plugin.proto, with an author's algorithms."""

from __future__ import annotations

import copy
import dataclasses
import mmap
import os
import re
import threading
import time
import traceback
from typing import Any, Callable, Iterable, Optional

import numpy as np

from . import _environment, _warnings
from . import plugin_pb2 as pb
from ._api import Algorithm, Failure, Infeasible, Invalid, Problem, Setting, Trial
from ._declared import Declared
from ._generator import Generator, Posed

_TASKS = {"learn": pb.TASK_LEARN, "predict": pb.TASK_PREDICT, "online": pb.TASK_ONLINE}
_TASK_NAMES = {number: name for name, number in _TASKS.items()}
_MOST_TEXT = 4096  # bytes of a text that goes to the host
_MOST_FAULT_TEXT = 256 << 10  # bytes of all faults of a message
_ASK_SECONDS, _ASK_BYTES = 0.25, 512 << 10  # when one is reached, the rest is left to the next request
_PACKAGE = os.path.dirname(__file__)


def text(s: Any, most: int = _MOST_TEXT) -> str:
    """Return s as valid UTF-8 of at most that many bytes."""
    raw = str(s).encode("utf-8", "replace")
    if len(raw) > most:
        raw = raw[:most - 3] + b"..."
    return raw.decode("utf-8", "ignore")


def explain(error: BaseException) -> str:
    """Return an exception of the author's code with those frames of its traceback that are the author's."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith(_PACKAGE)]
    what = "".join(traceback.format_exception_only(error)).strip()
    where = "".join(traceback.format_list(frames)).rstrip()
    # A program runs from a sealed copy at a descriptor. The text is recorded, so it has no path of this machine.
    return text(what + "\n\n" + re.sub(r"/proc/self/fd/\d+(/?)", lambda m: "" if m[1] else "plugin", where))


def fault(trial: int, error: BaseException) -> pb.Fault:
    """Return why a trial ended."""
    if isinstance(error, Invalid):
        return pb.Fault(trial=trial, kind=pb.Fault.KIND_INVALID, message=text(error))
    if isinstance(error, Infeasible):
        return pb.Fault(trial=trial, kind=pb.Fault.KIND_INFEASIBLE, message=text(error))
    if isinstance(error, Failure):
        return pb.Fault(trial=trial, kind=pb.Fault.KIND_ERROR, message=text(error) or "a Failure without a text")
    return pb.Fault(trial=trial, kind=pb.Fault.KIND_PANIC, message=explain(error))


def refusal(error: BaseException) -> pb.Refusal:
    """Return an exception as the refusal of a setting."""
    if isinstance(error, Invalid):
        return pb.Refusal(kind=pb.Refusal.KIND_INVALID, message=text(error))
    if isinstance(error, Infeasible):
        return pb.Refusal(kind=pb.Refusal.KIND_INFEASIBLE, message=text(error))
    message = text(error) if isinstance(error, Failure) else explain(error)
    return pb.Refusal(kind=pb.Refusal.KIND_ERROR, message=message)


def value(v: Any) -> pb.Value:
    """Return a parameter as the protocol has it."""
    return pb.Value(**{{int: "int", float: "float", bool: "bool", str: "string"}[type(v)]: v})


def parameters(of: Any) -> list[pb.Parameter]:
    """Return the description of the parameters of an algorithm or problem."""
    return [pb.Parameter(name=p.name, default=value(p.default), min=p.min, max=p.max, choices=p.choices, doc=text(p.doc))
            for p in of.parameters]


def given(of: Any, values: Any) -> Any:
    """Return the author's dataclass with the parameters of a setting."""
    known = {p.name: p for p in of.parameters}
    kinds = {name: v.WhichOneof("kind") for name, v in values.items()}
    for name in kinds:
        if name not in known:
            raise Invalid(f"unknown parameter {name!r}")
    read = {name: known[name].value(getattr(values[name], kind) if kind else None) for name, kind in kinds.items()}
    return of.params(**read) if of.params else None


def resolved(of: Any, params: Any) -> dict[str, pb.Value]:
    """Return the values of an author's dataclass."""
    return {p.name: value(p.converted(getattr(params, p.name))) for p in of.parameters}


class ServedProblem:
    """One problem, and what the protocol asks of it."""

    def __init__(self, generator: Generator):
        self.generator = generator

    def describe(self) -> pb.Algorithm:
        g = self.generator
        return pb.Algorithm(name=g.name, version=text(g.version), doc=text(g.doc), tasks=[pb.TASK_PROBLEM], parameters=parameters(g))

    def pose(self, w: pb.Setting) -> tuple[Any, Posed]:
        params = given(self.generator, w.parameters)
        posed = self.generator.pose(params)
        if not isinstance(posed, Posed) or posed.dim < 1:
            raise ValueError(f"pose returned {posed!r}: return Posed(dim=...), with a dimension of at least 1")
        return params, posed

    def check(self, w: pb.Setting) -> pb.CheckResponse:
        params, posed = self.pose(w)
        facts = pb.Posed(domain=posed.domain, dim=posed.dim, least_error=posed.least_error, **{"class": text(posed.class_)})
        return pb.CheckResponse(parameters=resolved(self.generator, params), posed=facts)

    def bound(self, w: pb.Setting) -> pb.BoundResponse:
        return pb.BoundResponse()

    def draw(self, q: pb.DrawRequest) -> pb.DrawResponse:
        if not len(q.targets) == len(q.points) == 2 * len(q.counts):
            raise ValueError("each draw has two words for its target, and two for its points")
        (params, posed), pairs = self.pose(q.setting), lambda words: list(zip(words[::2], words[1::2]))
        drawn = [self.generator.draw(params, posed, target, points, count)
                 for target, points, count in zip(pairs(q.targets), pairs(q.points), q.counts)]
        return pb.DrawResponse(x=b"".join(x.tobytes() for x, _ in drawn),
                               y=b"".join((y > 0).astype(np.uint8).tobytes() for _, y in drawn))


class Served:
    """One algorithm, and what the protocol asks of it."""

    def __init__(self, algorithm: Algorithm):
        self.algorithm = algorithm

    def describe(self) -> pb.Algorithm:
        a = self.algorithm
        return pb.Algorithm(
            name=a.name, version=text(a.version), doc=text(a.doc), tasks=[_TASKS[t] for t in a.tasks], parameters=parameters(a),
            metrics=[pb.Metric(name=m, doc=text(a.metrics[m])) for m in sorted(a.metrics)], private=a.guarantee is not None)

    def setting(self, w: pb.Setting) -> Setting:
        """Decode a setting and run the author's check on it, so that its parameters are resolved."""
        task = _TASK_NAMES.get(w.task, str(w.task))
        if task not in self.algorithm.tasks:
            raise Invalid(f"{self.algorithm.name} does not do the task {task!r}")
        p = w.problem
        problem = Problem(p.__getattribute__("class"), p.domain, p.dim, p.margin, p.noise, p.noise_rate, p.no_constant,
                          p.realizable, p.real_data, p.matrix, p.target, p.literals)
        s = Setting(given(self.algorithm, w.parameters), task, problem, w.n, w.alpha, w.reference, w.beta, w.epsilon, w.delta, w.queries,
                    w.offline, w.rounds, w.test, w.sees, w.means)
        if self.algorithm.check:
            self.algorithm.check(s)
        return s

    def check(self, w: pb.Setting) -> pb.CheckResponse:
        s = self.setting(w)
        r = pb.CheckResponse(parameters=resolved(self.algorithm, s.params))
        if self.algorithm.guarantee:
            g = dataclasses.asdict(self.algorithm.guarantee(s))
            r.guarantee.CopyFrom(pb.Guarantee(**{**g, "source": text(g["source"])}))
        promise = self.algorithm.declares
        r.declares = s.task == "learn" and bool(promise(s) if callable(promise) else promise)
        return r

    def bound(self, w: pb.Setting) -> pb.BoundResponse:
        r = pb.BoundResponse()
        stated = self.algorithm.bound and (w.alpha or w.task == pb.TASK_ONLINE)  # without a goal, no n is to be bounded
        for b in self.algorithm.bound(self.setting(w)) if stated else ():
            r.bounds.append(pb.Bound(name=text(b.name), source=text(b.source), value=b.value, proved=b.proved,
                                     premises=list(b.premises), order=b.order, fails=text(b.fails), unit=text(b.unit),
                                     **{"with": b.with_}))
        return r


class Service:
    """Serves a set of algorithms."""

    def __init__(self, algorithms: Iterable[Algorithm], sdk: str):
        self.served: dict[str, Any] = {}  # Served or ServedProblem
        for a in algorithms:
            if not isinstance(a, (Algorithm, Generator)):
                raise ValueError(f"serve {a!r}: it is not an algorithm: put the decorator @algorithm(...) on its class, or "
                                 "@problem(...) on that of a problem")
            if a.name in self.served:
                raise ValueError(f"algorithm {a.name!r} is served twice")
            self.served[a.name] = Served(a) if isinstance(a, Algorithm) else ServedProblem(a)
        if not self.served:
            raise ValueError("no algorithm to serve")
        self.sdk = sdk
        self.turn = threading.Lock()  # held while the author's code runs
        self.memory: dict[int, np.ndarray] = {}  # by place
        self.descriptors = {pb.Table.PLACE_SESSION: 4, pb.Table.PLACE_DATASET: 5}

    def share(self, session: int, dataset: int) -> Service:
        """Return a service of the same algorithms, which takes turns with this one, in other memory."""
        other = copy.copy(self)
        other.memory = {}
        other.descriptors = {pb.Table.PLACE_SESSION: session, pb.Table.PLACE_DATASET: dataset}
        return other

    def describe(self) -> pb.DescribeResponse:
        return pb.DescribeResponse(algorithms=[s.describe() for s in self.served.values()], sdk=self.sdk, protocol_min=1,
                                   protocol_max=1, progress=True, pipes=True, ask=True, environment=_environment.describe())

    def of(self, name: str) -> Served:
        if name not in self.served:
            raise Invalid(f"this plugin has no algorithm {name!r}")
        return self.served[name]

    def consult(self, call: Callable[[Any, pb.Setting], Any], response: type, w: pb.Setting) -> Any:
        """Return the response of a call, or one with a refusal."""
        with self.turn:
            try:
                return call(self.of(w.algorithm), w)
            except (Exception, SystemExit) as error:
                return response(refusal=refusal(error))

    def check(self, w: pb.Setting) -> pb.CheckResponse:
        return self.consult(lambda s, w: s.check(w), pb.CheckResponse, w)

    def bound(self, w: pb.Setting) -> pb.BoundResponse:
        return self.consult(lambda s, w: s.bound(w), pb.BoundResponse, w)

    def draw(self, q: pb.DrawRequest) -> pb.DrawResponse:
        return self.consult(lambda s, _: s.draw(q), pb.DrawResponse, q.setting)

    def ask(self, q: pb.AskRequest) -> pb.AskResponse:
        r, start, size = pb.AskResponse(), time.monotonic(), 0
        for w in q.settings:
            a = r.answers.add()
            a.check.CopyFrom(self.check(w))
            if not a.check.HasField("refusal") and w.n == 0:
                resolved = pb.Setting()
                resolved.CopyFrom(w)
                resolved.ClearField("parameters")
                for name, v in a.check.parameters.items():
                    resolved.parameters[name].CopyFrom(v)
                if a.check.guarantee.pure:
                    resolved.delta = 0
                if a.check.declares and w.problem.formula:
                    resolved.test = 0
                a.bound.CopyFrom(self.bound(resolved))
            size += a.ByteSize()
            if size > _ASK_BYTES or time.monotonic() - start > _ASK_SECONDS:
                break
        return r

    def table(self, t: pb.Table, labelled: bool = False) -> tuple[np.ndarray, Optional[np.ndarray]]:
        """Return views of the points, and of the labels, of a table in shared memory."""
        memory = self.memory.get(t.place)
        if memory is None:
            mapped = mmap.mmap(self.descriptors[t.place], 0, access=mmap.ACCESS_READ)
            memory = np.frombuffer(mapped, "<f8", len(mapped) // 8)
            self.memory[t.place] = memory
        at = (t.offset + t.x_at) // 8
        x = memory[at:at + t.rows * t.dim].reshape(t.rows, t.dim)
        if not labelled:
            return x, None
        at = (t.offset + t.y_at) // 8
        return x, memory[at:at + t.rows]


class Session:
    """The trials of one job. A trial that ends early leaves the others alone."""

    def __init__(self, service: Service):
        self.service = service
        self.begun = self.done = 0  # trials of the present request
        self.faults: list[pb.Fault] = []
        self.models: list[Any] = []  # by trial; None: it ended
        self.predicts: list[Any] = []  # of the models
        self.trials: list[Optional[Trial]] = []
        self.many: Any = None  # answers points of all trials
        self.played: Optional[tuple[list[int], np.ndarray]] = None  # online: counts and points of the last round
        self.values, self.marks = np.empty(0), np.empty(0, np.uint8)

    def answer(self, q: pb.SessionRequest) -> pb.SessionResponse:
        """Answer one request. Its exceptions are the host's fault; those of trials are in the response."""
        self.faults, self.begun, self.done = [], 0, 0
        kind = q.WhichOneof("request")
        if kind == "open":
            self._open(q.open)
            return pb.SessionResponse(opened=pb.Opened(faults=self._faults(), declared=self._declared()))
        if kind == "step":
            self._step(q.step)
            marks = self.marks.tobytes() if q.step.play and not self.online else b""
            return pb.SessionResponse(answers=pb.Answers(values=self.values.astype("<f8", copy=False).tobytes(), marks=marks,
                                                         faults=self._faults()))
        if kind == "close":
            self._observe(q.close.truths)
            return pb.SessionResponse(closed=pb.Closed(
                metrics=self._metrics(), faults=self._faults(), **_warnings.take()))
        raise ValueError("an empty request")

    def _open(self, o: pb.Open) -> None:
        s, seeds = o.setting, list(o.seeds)
        count, n, task = len(seeds) // 2, s.n, _TASK_NAMES.get(s.task)
        x, y = (None, None) if task == "online" else self.service.table(o.sample, labelled=True)
        revealed = self.service.table(o.revealed)[0] if s.offline else None
        self.online = task == "online"
        self.models, self.predicts, self.trials = [None] * count, [None] * count, [None] * count
        try:
            served = self.service.of(s.algorithm)
            setting = served.setting(s)
        except (Exception, SystemExit) as error:  # the same for all trials
            self.faults = [fault(j, error) for j in range(count)]
            return
        self.metrics, fields = served.algorithm.metrics, setting.__dict__
        start, per = getattr(served.algorithm, task), s.queries
        many = served.algorithm.learn_many if task == "learn" else None
        if many and count > 1 and self._learn_many(many, setting, seeds, x, y):
            return
        for j in range(count):
            self.begun = j + 1
            queries = None if revealed is None else revealed[j * per:(j + 1) * per]
            trial = self.trials[j] = Trial._of(fields, seeds[2 * j], seeds[2 * j + 1], queries)
            try:
                if self.online:
                    model = start(trial)
                else:
                    model = start(trial, x[j * n:(j + 1) * n], y[j * n:(j + 1) * n])
                self.predicts[j] = self._predict_of(model, task)
                if isinstance(model, Declared):
                    model._bind(setting.problem)
                self.models[j] = model
                if trial.metrics:
                    self._check_metrics(trial)
            except (Exception, SystemExit) as error:
                self._end(j, error)
            trial.revealed = None
            self.done = j + 1

    def _learn_many(self, learn: Any, setting: Setting, seeds: list[int], x: np.ndarray, y: np.ndarray) -> bool:
        """Let all trials learn at once. Report whether they did; otherwise each of them must learn alone."""
        count, n = len(seeds) // 2, setting.n
        trials = [Trial._of(setting.__dict__, high, low, None) for high, low in zip(seeds[::2], seeds[1::2])]
        try:
            self.begun = count
            models = learn(trials, x[:count * n].reshape(count, n, x.shape[1]), y[:count * n].reshape(count, n))
            many = models if callable(models) else None
            models = [None] * count if many else list(models)
            if len(models) != count:
                raise TypeError(f"learn_many returned {len(models)} models for {count} trials")
            predicts = [many or self._predict_of(m, "learn") for m in models]
            for trial, model in zip(trials, models):
                if isinstance(model, Declared):
                    model._bind(setting.problem)
                if trial.metrics:
                    self._check_metrics(trial)
        except (Exception, SystemExit):
            self.begun = 0
            return False
        self.trials, self.models, self.predicts, self.many, self.done = trials, models, predicts, many, count
        return True

    def _answer_many(self, counts: list[int], x: np.ndarray, shared: bool, first: int) -> None:
        """Answer the points of trials that have learned at once, those with equally many points together."""
        asked = np.array([c if p else 0 for c, p in zip(counts, self.predicts)])
        starts = np.cumsum(counts) - counts
        for m in np.unique(asked[asked > 0]):
            which = np.flatnonzero(asked == m)
            common = x[None, first:first + m] if shared else None
            try:
                self._answer_together(which, starts[which], m, x, common)
            except (Exception, SystemExit):
                for j in which:
                    try:
                        self._answer_together(np.array([j]), starts[j:j + 1], m, x, common)
                    except (Exception, SystemExit) as error:
                        self._end(int(j), error)
        self.begun = self.done = len(counts)

    def _answer_together(self, which: np.ndarray, starts: np.ndarray, m: int, x: np.ndarray, common: Optional[np.ndarray]) -> None:
        """Answer m points of each trial: the common ones, or those from starts on."""
        at: Any = starts[:, None] + np.arange(m)
        k = len(which)
        if starts[-1] - starts[0] == (k - 1) * m:  # a slice is faster
            at = slice(starts[0], starts[0] + k * m)
        points = common if common is not None else x[at].reshape(k, m, x.shape[1])
        answers = np.asarray(self.many(which, points), float)
        if answers.shape != (k, m):
            raise TypeError(f"{m} points of {k} trials were answered with an array of the shape {answers.shape}")
        self.values[at] = answers.ravel() if isinstance(at, slice) else answers

    def _predict_of(self, model: Any, task: str) -> Any:
        """Return the function that answers points, or raise an exception that says what is missing."""
        needed = {"predict": ("predict", "answer"), "online": ("predict", "observe")}.get(task, ())
        for method in needed:
            if not callable(getattr(model, method, None)):
                raise TypeError(f"{task} returned {type(model).__name__}, which has no method {method}")
        predict = getattr(model, "predict", model)
        if not callable(predict):
            raise TypeError(f"{task} returned {type(model).__name__}: return a function of points, or an object with predict")
        return predict

    def _declared(self) -> list[pb.Declared]:
        """Return the hypotheses that the models of living trials declare, by kind."""
        kinds: dict[str, list[int]] = {}
        for j, model in enumerate(self.models):
            if isinstance(model, Declared):
                kinds.setdefault(model.kind, []).append(j)
        return [pb.Declared(kind=kind, trials=trials,
                            numbers=np.concatenate([self.models[j].numbers for j in trials]).astype("<f8").tobytes())
                for kind, trials in kinds.items()]

    def _check_metrics(self, trial: Trial) -> None:
        for name in trial.metrics:
            if name not in self.metrics:
                raise KeyError(f"report({name!r}): it is not among the algorithm's metrics")

    def _end(self, j: int, error: BaseException) -> None:
        self.models[j] = self.predicts[j] = None
        self.faults.append(fault(j, error))

    def _step(self, r: pb.Step) -> None:
        x, _ = self.service.table(r.points)
        self._observe(r.truths)
        counts = list(r.counts)
        if r.play and self.online:
            self.played = (counts, x.copy())
        queries = r.play and not self.online
        self.values, self.marks = np.full(sum(counts), np.nan), np.zeros(sum(counts), np.uint8)
        values, shared, first, hi = self.values, r.shared, r.first_row, 0
        if self.many:
            self._answer_many(counts, x, shared, first)
            return
        for j, count in enumerate(counts):
            lo = hi
            hi += count
            predict = self.predicts[j]
            if predict is None or not count:
                continue
            at = first if shared else lo
            self.begun = j + 1
            try:
                if queries:
                    self._play(self.models[j], x[at:at + count], lo)
                else:
                    answers = predict(x[at:at + count])
                    if getattr(answers, "shape", None) != (count,):
                        answers = np.asarray(answers, float)
                        if answers.shape != (count,):
                            raise TypeError(f"{count} points were answered with an array of the shape {answers.shape}")
                    values[lo:hi] = answers
            except (Exception, SystemExit) as error:
                self._end(j, error)
            self.done = j + 1

    def _play(self, model: Any, x: np.ndarray, lo: int) -> None:
        for i in range(len(x)):
            label = model.answer(x[i])
            if type(label) is tuple:
                label, hard = label
                self.marks[lo + i] = bool(hard)
            self.values[lo + i] = label

    def _observe(self, truths: bytes) -> None:
        if not truths:
            return
        if self.played is None:
            raise ValueError("truths came before a round was played")
        (counts, x), self.played = self.played, None
        y, hi = np.frombuffer(truths, "<f8"), 0
        for j, count in enumerate(counts):
            lo = hi
            hi += count
            if count and self.models[j] is not None:
                try:
                    self.models[j].observe(x[lo:hi], y[lo:hi])
                except (Exception, SystemExit) as error:
                    self._end(j, error)

    def _metrics(self) -> dict[str, bytes]:
        columns = {}
        for j, trial in enumerate(self.trials):
            for name, v in (trial.metrics if trial else {}).items():
                if name not in columns:
                    columns[name] = np.full(len(self.trials), np.nan)
                columns[name][j] = v
        return {name: column.astype("<f8").tobytes() for name, column in columns.items() if name in self.metrics}

    def _faults(self) -> list[pb.Fault]:
        """Return the faults, with equal texts in a row once, and cut if all together are too long."""
        last, total = None, 0
        for f in self.faults:
            if f.message == last:
                f.message = ""
            else:
                last = f.message
                total += len(f.message)
        if total > _MOST_FAULT_TEXT:
            for f in self.faults:
                f.message = text(f.message, max(3, _MOST_FAULT_TEXT // len(self.faults)))
        return self.faults
