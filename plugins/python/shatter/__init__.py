"""Shatter for Python: an SDK for authors of algorithms, and a client that runs sweeps and reads results.

    r = shatter.run("sweep.yaml")      # or a dict; see also open, submit, check
    r.table(), r.curve(), r.query("select ..."), r.plot()

The client starts the program shatter. Its algorithms may be learners of the same notebook: see `learner` and `sklearn`.

To write a plugin, describe an algorithm as a class under the decorator `algorithm`, and pass it to `serve`:

    #!/usr/bin/env python3
    from dataclasses import dataclass

    from shatter import Halfspace, algorithm, param, serve

    @dataclass
    class Params:
        noise: float = param(0.0, min=0, doc="standard deviation of what is added to the weights")

    @algorithm("acme/mean", version="1.0.0", params=Params)
    class Mean:
        "Nearest mean."

        def declares(self, s):
            return s.problem.class_ == "halfspace"

        def learn(self, trial, x, y):
            return Halfspace(y @ x / len(y) + trial.params.noise * trial.rand.standard_normal(x.shape[1]))

    if __name__ == "__main__":
        serve(Mean)

`shatter plugin build mean.py` packs the file and this package into one program, `mean`; `shatter plugin
test ./mean` is its acceptance test; and a sweep file names it under `plugins`.

The package promises that an author's code sees one trial at a time, each with its own random numbers,
and that an exception in a trial, or a wrong answer, affects the outcome of that trial alone. In return
the result of a trial must be a function of its setting, its sample and `Trial.rand`: no clock, no other
source of randomness, and nothing kept from one trial to the next. Samples lie in memory that is shared
with the worker: they are not copied, cannot be written to, and are borrowed, so that a model that needs
some of a sample later must copy it.

A plugin may print at any time once this package is imported: what it prints is shown where a failure of
the plugin is reported.
"""

import builtins
import os
import sys
from typing import TYPE_CHECKING, Any

from . import _process  # first: it turns standard output away before anybody prints
from ._api import (
    BEST_REFERENCE,
    CLEAN_LABELS,
    EXACT_ERROR,
    EXAMPLES,
    FIXED_BEFOREHAND,
    INDEPENDENT_NOISE,
    MISTAKES,
    PRINTED_REGRET,
    PROVED_REGRET,
    REGRET,
    TARGET_IN_CLASS,
    UNSEEN_ANSWER,
    Algorithm,
    Answerer,
    Bound,
    Failure,
    Guarantee,
    Infeasible,
    Invalid,
    Learner,
    Model,
    Problem,
    Setting,
    Trial,
    algorithm,
    param,
    uniforms,
)
from ._declared import (
    Conjunction,
    Constant,
    Declared,
    Halfspace,
    Interval,
    Parity,
    Point,
    Rectangle,
    Row,
    Stump,
    Threshold,
)
from ._generator import Generator, Posed, problem
from ._learner import learner, sklearn

if TYPE_CHECKING:
    from ._client import (
        CaptureError,
        Changed,
        Diagnostic,
        IntegrityError,
        Interrupted,
        NoConnection,
        Refuted,
        Result,
        Run,
        ShatterError,
        Submission,
        SweepError,
        Table,
        Unfinished,
        UsageError,
        check,
        open,
        run,
        submit,
    )

__version__ = "0.1.0"

__all__ = [
    "BEST_REFERENCE", "CLEAN_LABELS", "EXACT_ERROR", "EXAMPLES", "FIXED_BEFOREHAND", "INDEPENDENT_NOISE",
    "MISTAKES", "PRINTED_REGRET", "PROVED_REGRET", "REGRET", "TARGET_IN_CLASS", "UNSEEN_ANSWER", "Algorithm",
    "Answerer", "Bound", "Conjunction", "Constant", "Declared", "Failure", "Generator", "Guarantee", "Halfspace",
    "Infeasible", "Interval", "Invalid", "Learner", "Model", "Parity", "Point", "Posed", "Problem", "Rectangle",
    "Row", "Setting", "Stump", "Threshold", "Trial", "algorithm", "learner", "param", "problem", "read_file", "serve",
    "sklearn", "uniforms",
]

_CLIENT = (
    "CaptureError", "Changed", "Diagnostic", "IntegrityError", "Interrupted", "NoConnection", "Refuted", "Result", "Run",
    "ShatterError", "Submission", "SweepError", "Table", "Unfinished", "UsageError", "check", "open", "run", "submit",
)


def __getattr__(name: str) -> Any:  # a plugin has no client, and does not wait for its import
    if name not in _CLIENT:
        raise AttributeError(f"module 'shatter' has no attribute {name!r}")
    from . import _client

    return getattr(_client, name)


def __dir__() -> "list[str]":
    return [*__all__, *_CLIENT]


def read_file(name: str) -> bytes:
    """Return the content of a file that `shatter plugin build --include` has packed, or that is next to the program."""
    loader = __loader__  # of this package, which is packed with the file
    if hasattr(loader, "archive"):
        return loader.get_data(os.path.join(loader.archive, name))
    with builtins.open(os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), name), "rb") as f:
        return f.read()


def serve(*algorithms: "Algorithm | Generator") -> None:
    """Make the program a plugin that serves the algorithms and problems. It is the last thing that a program does.

    If a person started the program, or if an algorithm is not valid, it says so on standard error and exits
    with status 2. If a person started it with SHATTER_ATTACH=1, in a debugger for example, it prints a line with the
    flag by which shatter run, trial and plugin test attach to the process, and serves them until an interrupt.
    """
    _process.serve(algorithms, __version__)
