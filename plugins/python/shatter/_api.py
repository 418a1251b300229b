"""What an author writes and reads."""

from __future__ import annotations

import dataclasses
import math
import re
import typing
from typing import Any, Callable, Optional, Protocol, Sequence, Union

import numpy as np
from numpy.random.bit_generator import ISeedSequence

# The premises of bounds: schemas/reference/names.md describes them.
TARGET_IN_CLASS = "target-in-class"
BEST_REFERENCE = "best-reference"
CLEAN_LABELS = "clean-labels"
INDEPENDENT_NOISE = "independent-noise"
EXACT_ERROR = "exact-error"
FIXED_BEFOREHAND = "fixed-beforehand"
UNSEEN_ANSWER = "unseen-answer"

# The units of bounds, and the metrics by which a learner of the task online reports a bound of each game:
# plugins/bounds.md describes them.
EXAMPLES = "examples"
REGRET = "regret"
MISTAKES = "mistakes"
PROVED_REGRET = "proved_regret"
PRINTED_REGRET = "printed_regret"

Array = np.ndarray
Labels = Any  # what numpy makes an array of


class Invalid(Exception):
    """Blames the parameters or the problem: the setting is refused before anything runs."""


class Infeasible(Exception):
    """Says "not with this sample size and budget": nothing runs, and the size counts as one without success."""


class Failure(Exception):
    """Fails the trial that raises it, with its text alone. Any other exception does so with its traceback."""


@dataclasses.dataclass
class Problem:
    """What is public about the problem of a trial; never the target."""

    class_: str = ""  # in the sweep file, such as "thresholds" or "halfspace"
    domain: int = 0  # X: coordinates are whole numbers in 0..X-1; 0 if the class has no X
    dim: int = 1  # coordinates of each point
    margin: float = 0.0  # that the target promises on all points; 0 for none
    noise: str = "none"  # "none", "random", "adversarial", or "malicious", which replaces examples
    noise_rate: float = 0.0  # in [0, 1/2)
    no_constant: bool = False  # thresholds lack the constant -1
    realizable: bool = True  # the target lies in the class
    real_data: bool = False  # examples are drawn from rows of real data instead of from a distribution
    matrix: str = ""  # of class "matrix": for each hypothesis domain characters, '0' for -1 and '1' for +1
    target: str = "random"  # how it is chosen: "random", "uniform", "fixed", or "" where there is none
    literals: int = 0  # of a random conjunction


@dataclasses.dataclass
class Setting:
    """Everything public that a trial runs under."""

    params: Any = None
    task: str = "learn"  # "learn", "predict" or "online"
    problem: Problem = dataclasses.field(default_factory=Problem)
    n: int = 0  # sample size; 0 if none is fixed yet
    alpha: float = 0.1  # a trial succeeds when its error is at most reference + alpha; 0: no goal
    reference: float = 0.0  # the reference error: 0, or what the best hypothesis of the class has
    beta: float = 0.1  # the failure probability allowed
    epsilon: float = 0.0  # privacy budget; 0 if the algorithm states no guarantee
    delta: float = 0.0  # privacy budget; 0 if the algorithm states no guarantee, or a pure one
    queries: int = 0  # predict: how many there are
    offline: bool = False  # predict: they are known before the first answer (Trial.revealed)
    rounds: int = 0  # online: how many there are
    test: int = 0  # learn, predict: an error is as sure as one on so many points, at least; 0: all are exact
    sees: str = ""  # predict, online: what the adversary knows: "nothing", the "past" answers, or the "answers"
    means: bool = False  # answers are means of labels, in [-1, +1]; otherwise -1 or +1


class _Key(ISeedSequence):
    """Seeds a bit generator with the two words of a trial."""

    __slots__ = ("words",)

    def __init__(self, high: int, low: int):
        self.words = (high, low)

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> Array:
        state = np.zeros(n_words, dtype)
        state[:2] = self.words
        return state


def _random(high: int, low: int) -> np.random.Generator:
    """Return the random numbers of two words."""
    return np.random.Generator(np.random.PCG64(_Key(high, low)))


class Trial(Setting):
    """One run of an algorithm: its setting and its random numbers.

    Authors may make one by hand to test a function of theirs: Trial(params=Params(noise=1), n=20, seed=7).
    """

    metrics: dict[str, float]  # what was reported; in a plugin the worker has it
    revealed: Optional[Array]  # the queries of an offline adversary, in their order, borrowed; else None

    def __init__(self, seed: int = 0, revealed: Optional[Array] = None, **setting: Any):
        super().__init__(**setting)
        self._begin(0, seed, revealed)

    def _begin(self, high: int, low: int, revealed: Optional[Array]) -> None:
        self._seed, self._rand = (high, low), None
        self.metrics, self.revealed = {}, revealed

    @classmethod
    def _of(cls, setting: dict[str, Any], high: int, low: int, revealed: Optional[Array]) -> "Trial":
        t = cls.__new__(cls)
        t.__dict__.update(setting)
        t._begin(high, low, revealed)
        return t

    @property
    def rand(self) -> np.random.Generator:
        """The trial's only source of randomness."""
        if self._rand is None:
            self._rand = _random(*self._seed)
        return self._rand

    def report(self, name: str, value: float) -> None:
        """Record a value of one of the algorithm's metrics for this trial, in place of an earlier one."""
        value = float(value)
        if not math.isfinite(value):
            raise Failure(f"metric {name!r} is {value}")
        self.metrics[name] = value


def uniforms(trials: Sequence[Trial], size: int) -> Array:
    """Return for each trial a row of random numbers in [0, 1), from its seed alone: faster than trial.rand for many trials.

    The rows are streams of SplitMix64, keyed and mixed again by the trial's seed. A second call returns the same numbers.
    """
    seeds = np.array([t._seed for t in trials], np.uint64).reshape(-1, 2)
    key = _mix(seeds + _GOLDEN)
    steps = np.arange(1, size + 1, dtype=np.uint64) * _GOLDEN
    return (_mix(_mix(key[:, :1] + steps) ^ key[:, 1:]) >> np.uint64(11)) * 2.0**-53


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _mix(z: Array) -> Array:
    """Return the output function of SplitMix64."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@dataclasses.dataclass
class Guarantee:
    """Differential privacy of a released model, or of all answers to queries together with their marks.

    Neighbouring samples differ in one replaced example; n is public. Tables say "declared" of it.
    """

    epsilon: float
    source: str  # the theorem or computation that it follows from
    delta: float = 0.0
    pure: bool = False  # epsilon alone: delta is 0 and the sweep's delta does not apply
    rho: float = 0.0  # zero-concentrated privacy, if it was proved in that form
    mu: float = 0.0  # Gaussian differential privacy, if it was proved in that form
    unproved: bool = False  # epsilon and delta are only aimed at
    real_valued: bool = False  # the proof covers the release of a mean for each point


@dataclasses.dataclass
class Bound:
    """One of the sample sizes, or in the task online of the regrets, that theory gives."""

    name: str  # such as "sharp-realizable"
    source: str  # the theorem, and the text that states it
    value: float  # in unit; infinite if no finite number is enough
    proved: bool = False  # False if the bound is only printed in a paper
    premises: Sequence[str] = ()  # what the proof takes for granted
    with_: dict[str, float] = dataclasses.field(default_factory=dict)  # intermediate values
    order: bool = False  # an order of magnitude alone: hidden constants are taken as 1
    fails: str = ""  # why the bound does not hold of this setting for another reason than a premise
    unit: str = ""  # what value counts: EXAMPLES, or in the task online REGRET or MISTAKES


class Model(Protocol):
    """What learn returns, if it is not simply a function from points to answers."""

    def predict(self, x: Array) -> Labels:
        """Return the answer, -1 or +1 (or a mean, where the setting says so), to each row of x.

        It changes nothing in the model, and the answer to a point depends on no other point.
        """


class Answerer(Model, Protocol):
    """What predict returns: it answers the queries of one trial, one by one.

    Its predict says how the next query would be answered, whatever point it is. It may be called before the
    first query, between any two and after the last, so noise is drawn beforehand.
    """

    def answer(self, x: Array) -> Union[float, tuple[float, bool]]:
        """Return the label, -1 or +1, of one query, with True if it is to be marked as hard in public."""


class Learner(Model, Protocol):
    """What online returns: its predict gives the mean of the label of the next point."""

    def observe(self, x: Array, y: Array) -> None:
        """Take the truths y, -1 or +1, of the points x that were just played, both of which are borrowed."""


def param(default: Any, *, min: Optional[float] = None, max: Optional[float] = None,
          choices: Sequence[str] = (), doc: str = "") -> Any:
    """Describe a field of the dataclass of parameters: its default, what is allowed (limits are inclusive), its doc."""
    return dataclasses.field(default=default, metadata={"min": min, "max": max, "choices": tuple(choices), "doc": doc})


@dataclasses.dataclass
class Parameter:
    """One parameter of an algorithm."""

    name: str
    kind: type  # int, float, bool or str
    default: Any
    min: Optional[float]
    max: Optional[float]
    choices: tuple[str, ...]
    doc: str

    def value(self, v: Any) -> Any:
        """Return v in the parameter's kind. Raise Invalid if it is of another kind, or not allowed."""
        try:
            return self.allowed(self.converted(v))
        except ValueError as error:
            raise Invalid(f"parameter {self.name!r}: {error}") from None

    def converted(self, v: Any) -> Any:
        exact = 2**53  # a float represents every whole number up to here
        if type(v) is self.kind:
            return v
        if self.kind is float and type(v) is int and abs(v) <= exact:
            return float(v)
        if self.kind is int and type(v) is float and v.is_integer() and abs(v) <= exact:
            return int(v)
        raise ValueError(f"{v!r} where {_KINDS[self.kind]} is needed")

    def allowed(self, v: Any) -> Any:
        if self.kind is float and not math.isfinite(v):
            raise ValueError(f"{v} is no finite number")
        if self.min is not None and v < self.min:
            raise ValueError(f"{v} is below the smallest allowed, {self.min}")
        if self.max is not None and v > self.max:
            raise ValueError(f"{v} is above the largest allowed, {self.max}")
        if self.choices and v not in self.choices:
            raise ValueError(f"{v!r} is none of {', '.join(self.choices)}")
        return v


_KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_ALGORITHM = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*/[a-z0-9]+(-[a-z0-9]+)*")
_RESERVED = ("use", "as", "replica")  # keys that stand beside parameters in a sweep file
_MOST_METRICS = 16


def _parameters(params: Optional[type], reserved: Sequence[str] = _RESERVED) -> list[Parameter]:
    """Return the parameters that the fields of a dataclass describe."""
    if params is None:
        return []
    if not dataclasses.is_dataclass(params):
        raise ValueError(f"params is {params!r}: a dataclass is needed")
    hints, found = typing.get_type_hints(params), []
    for field in dataclasses.fields(params):
        p = Parameter(field.name, hints[field.name], field.default, field.metadata.get("min"), field.metadata.get("max"),
                      field.metadata.get("choices", ()), field.metadata.get("doc", ""))
        where = f"parameter {p.name!r}: "
        if p.kind not in _KINDS:
            raise ValueError(f"{where}type {p.kind} is not supported: use int, float, bool or str")
        if not _NAME.fullmatch(p.name):
            raise ValueError(f"{where}use lower case letters, digits and underscores")
        if p.name in reserved:
            raise ValueError(f"{where}it is a word of the sweep file: choose another name")
        if p.default is dataclasses.MISSING:
            raise ValueError(f"{where}it has no default")
        if p.choices and p.kind is not str or (p.min, p.max) != (None, None) and p.kind not in (int, float):
            raise ValueError(f"{where}only numbers have limits, and only texts have choices")
        try:
            p.default = p.value(p.default)
        except Invalid as error:
            raise ValueError(f"default of {error}") from None
        found.append(p)
    return found


class Algorithm:
    """An algorithm that can be served. The decorator `algorithm` makes it from a class."""

    learn: Optional[Callable[[Trial, Array, Array], Any]]
    learn_many: Optional[Callable[[Sequence[Trial], Array, Array], Any]]
    predict: Optional[Callable[[Trial, Array, Array], Any]]
    online: Optional[Callable[[Trial], Any]]
    check: Optional[Callable[[Setting], None]]
    guarantee: Optional[Callable[[Setting], Guarantee]]
    bound: Optional[Callable[[Setting], Sequence[Bound]]]
    declares: Union[bool, Callable[[Setting], bool]]

    def __init__(self, cls: type, name: str, version: str, params: Optional[type], metrics: dict[str, str]):
        if not _ALGORITHM.fullmatch(name):
            raise ValueError(f"algorithm {name!r}: the name must be family/name, of lower case letters, digits and hyphens")
        self.name, self.version, self.doc = name, version, " ".join((cls.__doc__ or "").split())
        self.params, self.metrics = params, dict(metrics)
        author = _frozen(cls)()
        for part in ("learn", "learn_many", "predict", "online", "check", "guarantee", "bound"):
            setattr(self, part, getattr(author, part, None))
        self.learn = self.learn or self.learn_many and self._learn_one
        self.declares = getattr(author, "declares", False)
        self.tasks = [task for task in ("learn", "predict", "online") if getattr(self, task)]
        try:
            self._check_description()
            self.parameters = _parameters(params)
        except ValueError as error:
            raise ValueError(f"algorithm {name!r}: {error}") from None

    def _learn_one(self, trial: Trial, x: Array, y: Array) -> Any:
        """Learn by learn_many from one sample."""
        models = self.learn_many([trial], x[None], y[None])
        return (lambda points: models(np.zeros(1, int), points[None])[0]) if callable(models) else models[0]

    def _check_description(self) -> None:
        if not self.version:
            raise ValueError("no version is given")
        if not self.tasks:
            raise ValueError("it has none of the methods learn, predict and online, so there is nothing that it can do")
        if not (isinstance(self.declares, bool) or callable(self.declares)):
            raise ValueError(f"declares is {self.declares!r}: use True, False, or a method that takes a setting")
        if len(self.metrics) > _MOST_METRICS:
            raise ValueError(f"{len(self.metrics)} metrics: at most {_MOST_METRICS} are possible")
        for metric in self.metrics:
            if not _NAME.fullmatch(metric):
                raise ValueError(f"metric {metric!r}: use lower case letters, digits and underscores")


def _frozen(cls: type) -> type:
    """Return a subclass whose instances cannot be changed: one of them serves all trials."""

    def refuse(self: Any, name: str, value: Any) -> None:
        raise AttributeError(f"self.{name} would be kept from trial to trial: return a model that holds it instead")

    return type(cls.__name__, (cls,), {"__setattr__": refuse, "__doc__": cls.__doc__})


def algorithm(name: str, *, version: str, params: Optional[type] = None,
              metrics: Optional[dict[str, str]] = None) -> Callable[[type], Algorithm]:
    """Make an algorithm of the class below, whose docstring is one sentence for users.

    name is "family/name"; version is shown with results, to be changed whenever they change (Shatter recognizes a
    change by the file); params is a dataclass, each field of which is an int, float, bool or str with a default,
    described by `param`; metrics are the names that `Trial.report` accepts, with their meaning.

    The class has at least one of the methods

        learn(self, trial, x, y)    returns a model: a Declared hypothesis, a function from points to answers, or a Model
        predict(self, trial, x, y)  returns an Answerer
        online(self, trial)         returns a Learner
        learn_many(self, trials, x, y)  learns from k samples at once, in x[k, n, d] and y[k, n]: see `uniforms`

    where x has one row for each example and y its labels, -1 and +1, and may have

        check(self, setting)      raises Invalid or Infeasible, or resolves parameters in setting.params
        guarantee(self, setting)  returns a Guarantee: without the method the algorithm is not private
        bound(self, setting)      returns a list of Bound
        declares(self, setting)   reports whether each model that learn returns is a Declared hypothesis of the problem's
                                  class; declares = True promises it in all settings. Where the problem has a formula
                                  for errors, they and bounds are then exact, and a trial with another model fails

    learn_many returns a list of k models, or one function (which, x) that returns the answers [len(which), m] of the
    trials with the numbers in the array which; x has the shape [len(which), m, d], or [1, m, d] for points that the
    trials share. It replaces learn, where an array operation over all trials is faster than a loop. What a trial gets
    must not depend on the others. If it raises an exception, it is called again for each trial alone.

    check is called for each cell with n = 0, then for each sample size and in each session: it must accept the
    parameters that it has resolved, and leave them as they are.
    """
    return lambda cls: Algorithm(cls, name, version, params, metrics or {})
