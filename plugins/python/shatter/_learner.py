"""Algorithms of one function, and of estimators of scikit-learn."""

from __future__ import annotations

import dataclasses
import inspect
import re
from typing import Any, Callable, Optional, Union

import numpy as np

from ._api import Algorithm, Guarantee, Setting, Trial, param
from ._declared import Constant, Halfspace

_SOURCE = "declared by its author"


class FunctionAlgorithm(Algorithm):
    """An algorithm of the task learn that is one function."""

    def __init__(self, function: Callable[..., Any], privacy: Optional[str], name: str, version: str, declares: Any):
        fields = [(p.name, type(p.default), param(p.default)) for p in inspect.signature(function).parameters.values()
                  if p.kind is p.KEYWORD_ONLY and p.default is not p.empty]
        params = dataclasses.make_dataclass("Params", fields) if fields else None

        def learn(self: Any, trial: Trial, x: Any, y: Any) -> Any:
            return function(trial, x, y, **(vars(trial.params) if fields else {}))

        def guarantee(self: Any, s: Setting) -> Guarantee:
            return Guarantee(epsilon=s.epsilon, delta=0 if privacy == "pure" else s.delta, pure=privacy == "pure", source=_SOURCE)

        if privacy not in (None, "pure", "approximate"):
            raise ValueError(f"privacy={privacy!r}: use 'pure', 'approximate' or None")
        methods = {"__doc__": function.__doc__, "learn": learn, "declares": (lambda self, s: declares(s)) if callable(declares) else declares}
        if privacy:
            methods["guarantee"] = guarantee
        super().__init__(type(function.__name__, (), methods), name, version, params, {})
        self.function = function

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.function(*args, **named)


def learner(privacy: Optional[str] = None, *, name: Optional[str] = None, version: str = "1",
            declares: Union[bool, Callable[[Setting], bool]] = False) -> Callable[[Callable[..., Any]], FunctionAlgorithm]:
    """Make an algorithm of the function below, with the arguments (trial, x, y), which returns a model: see `algorithm`.

    privacy is "pure" or "approximate" if the function is private at the epsilon (and delta) of its trial; None if it
    is not. The parameters of the algorithm are the arguments after * that have defaults. In a notebook the algorithm
    may be an element of algorithms in the dict for `run`; in a plugin file, pass it to `serve`.
    """

    def make(function: Callable[..., Any]) -> FunctionAlgorithm:
        plain = re.sub("[^a-z0-9]+", "-", function.__name__.lower()).strip("-")
        return FunctionAlgorithm(function, privacy, name or f"notebook/{plain}", version, declares)

    return make


class EstimatorAlgorithm(Algorithm):
    """A classifier of scikit-learn as an algorithm of the task learn."""

    def __init__(self, estimator: Any, name: Optional[str]):
        import sklearn
        from sklearn.linear_model._base import LinearClassifierMixin

        kind = type(estimator).__name__
        linear = isinstance(estimator, LinearClassifierMixin)
        homogeneous = linear and getattr(estimator, "fit_intercept", True) is False  # as the hypotheses of the class are
        seeds = [p for p in estimator.get_params() if p.split("__")[-1] == "random_state"]

        def learn(self: Any, trial: Trial, x: Any, y: Any) -> Any:
            if (y == y[0]).all():  # most classifiers require both labels
                return Constant(y[0])
            fitted = sklearn.base.clone(estimator)
            if seeds:
                fitted.set_params(**{p: int(trial.rand.integers(2**31)) for p in seeds})
            fitted.fit(x, (y > 0).astype(int))
            if linear:
                return Halfspace(fitted.coef_, fitted.intercept_)
            return lambda points: 2.0 * np.asarray(fitted.predict(points), float) - 1

        def declares(self: Any, s: Setting) -> bool:
            return homogeneous and s.problem.class_ == "halfspace"

        words = re.sub("(?<=[a-z0-9])(?=[A-Z])", "-", kind).lower()
        methods = {"learn": learn, "declares": declares, "__doc__": f"{kind} of scikit-learn; not private."}
        super().__init__(type(kind, (), methods), name or f"sklearn/{words}", sklearn.__version__, None, {})
        self.estimator = estimator


def sklearn(estimator: Any, *, name: Optional[str] = None) -> EstimatorAlgorithm:
    """Make an algorithm of a classifier of scikit-learn, such as LogisticRegression(C=2).

    Each trial fits a copy to the labels 0 and 1; a random_state is drawn from the trial's randomness; a sample with one
    label gives the constant hypothesis. Linear models declare their halfspace; with fit_intercept=False they promise it,
    and errors on the class halfspace are exact. The name is "sklearn/" with the name of
    the class, such as sklearn/logistic-regression. It may be an element of algorithms in the dict for `run`, or be
    passed to `serve`.
    """
    return EstimatorAlgorithm(estimator, name)
