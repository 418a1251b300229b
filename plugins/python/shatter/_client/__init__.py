"""The client: it starts the program shatter, and reads its results."""

from __future__ import annotations

import atexit
import html
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
import weakref
from collections.abc import Iterable, Mapping
from typing import Any, Optional, Union

from . import _capture
from ._arrow import Table, html_table
from ._errors import (
    CaptureError,
    Changed,
    Diagnostic,
    IntegrityError,
    Interrupted,
    NoConnection,
    Refuted,
    ShatterError,
    SweepError,
    Unfinished,
    UsageError,
    failure,
)

__all__ = [
    "CaptureError", "Changed", "Diagnostic", "Figure", "IntegrityError", "Interrupted", "NoConnection", "Refuted", "Result",
    "Run", "ShatterError", "Submission", "SweepError", "Table", "Unfinished", "UsageError", "binary", "check", "open",
    "run", "submit",
]

Source = Union[str, "os.PathLike[str]", Mapping[str, Any]]
_NO_BINARY = ("the program shatter was not found: install the wheel that has it, set $SHATTER to its path, or put it on PATH "
              "(go install ./cmd/shatter in a checkout)")


def binary() -> str:
    """Return the path of the program: $SHATTER, the one that was installed with the package, or the first on PATH."""
    if named := os.environ.get("SHATTER"):
        if not os.access(named, os.X_OK):
            raise UsageError(f"$SHATTER is {named!r}, which is not a program")
        return named
    places = [os.path.join(os.path.dirname(os.path.dirname(__file__)), "_bin"), sysconfig.get_path("scripts")]
    for folder in (*places, os.environ.get("PATH", "")):  # pip puts the program of the wheel among the scripts
        if found := shutil.which("shatter", path=folder):
            return found
    raise UsageError(_NO_BINARY)


_open = open  # the module has its own


def _call(*args: str, stdin: bytes = b"", result: Any = None) -> bytes:
    """Run a command and return its output."""
    done = subprocess.run([binary(), *args], input=stdin, capture_output=True)
    if done.returncode:
        raise failure(done.returncode, done.stderr.decode(errors="replace"), result)
    return done.stdout


def _flags(flags: Mapping[str, Any]) -> list[str]:
    """Return flags of the command line: workers=2 is --workers 2, fresh=True is --fresh, and a list repeats a flag."""
    args = []
    for name, value in flags.items():
        for v in value if isinstance(value, (list, tuple)) else [value]:
            if v is not None and v is not False:
                args.append("--" + name.replace("_", "-") + ("" if v is True else f"={v}"))
    return args


def _plain(v: Any) -> Any:
    """Return the Python number or list for one of numpy."""
    if hasattr(v, "tolist"):
        return v.tolist()
    raise TypeError(f"{v!r} cannot be a value in a sweep")


def _sweep(source: Source, set: Optional[Mapping[str, Any]], out: Optional[str]) -> tuple[list[str], bytes]:
    """Return the arguments that name a sweep, and its text on stdin if it is a dict."""
    changes = [f"{key}={json.dumps(v, default=_plain)}" for key, v in (set or {}).items()]
    if not isinstance(source, Mapping):
        return [os.fspath(source), *changes], b""
    folder = out or os.path.join("shatter-out", str(source.get("name", "stdin")))
    source = _capture.with_plugins(source, folder + ".plugins", lambda *args: _call("plugin", "build", *args))
    return ["-", *changes], json.dumps(source, indent=1, allow_nan=False, default=_plain).encode()


def check(source: Source, *, set: Optional[Mapping[str, Any]] = None, **flags: Any) -> str:
    """Check a sweep and describe its plan. Raise SweepError, with diagnostics, if it has mistakes."""
    args, stdin = _sweep(source, set, None)
    return _call("check", *args, *_flags(flags), stdin=stdin).decode()


class Figure(str):
    """The text of a figure in SVG. name is that of its file, caption what it shows and which values are fixed."""

    name: str
    caption: str

    def _repr_svg_(self) -> str:
        return str(self)


class Figures(list["Figure"]):
    """Figures of a result. A notebook shows them all."""

    def _repr_html_(self) -> str:
        return "".join(f"<div>{figure}<p>{html.escape(figure.caption)}</p></div>" for figure in self)


def _literal(v: Any) -> str:
    if hasattr(v, "item"):
        v = v.item()
    return "'" + v.replace("'", "''") + "'" if isinstance(v, str) else str(v)


Where = Mapping[str, Any]  # values of columns, or lists of them


def _values(v: Any) -> list[Any]:
    return list(v) if isinstance(v, Iterable) and not isinstance(v, (str, bytes)) else [v]


def _conditions(where: Optional[Where]) -> list[str]:
    return [f"--where={column}={','.join(_text(v) for v in _values(vs))}" for column, vs in (where or {}).items()]


def _text(v: Any) -> str:
    return str(v).lower() if isinstance(v, bool) else str(v)


class Result:
    """A result: the output folder of a sweep, finished or partial."""

    dir: str

    def __init__(self, dir: Union[str, "os.PathLike[str]"]):
        self.dir = os.fspath(dir)

    @property
    def manifest(self) -> dict[str, Any]:
        """What manifest.json says of the result; empty before a run has ended."""
        try:
            with _open(os.path.join(self.dir, "manifest.json"), encoding="utf-8") as f:
                return json.load(f)
        except FileNotFoundError:
            return {}

    @property
    def digest(self) -> str:
        """The digest of the result files; "" before a run has ended."""
        return self.manifest.get("digest", "")

    @property
    def partial(self) -> str:
        """Why cells may still be open; "" if the sweep has ended."""
        m = self.manifest
        if m.get("digest"):
            return m.get("partial", "")
        return "the sweep was interrupted: run it again to continue" if m else "the run has not ended"

    def table(self, where: Optional[Where] = None, *, sort: Optional[str] = None, what: str = "table") -> Table:
        """Return the table of cells, with every column. where={"epsilon": 1, "algorithm": [...]} selects rows."""
        args = [f"--what={what}", "--output=arrow", *_conditions(where), *_flags({"sort": sort})]
        return Table(_call("table", self.dir, *args))

    def curve(self, where: Optional[Where] = None) -> Table:
        """Return the success rates at each n that was tried."""
        return self.table(where, what="curve")

    def bounds(self, where: Optional[Where] = None) -> Table:
        """Return all bounds of theory."""
        return self.table(where, what="bounds")

    def fits(self, where: Optional[Where] = None) -> Table:
        """Return how n* grows along the axes."""
        return self.table(where, what="fits")

    def trials(self, where: Optional[Where] = None) -> Table:
        """Return each trial, with the key columns of its cell."""
        return self.query("select * from trials" + self._sql(where))

    def failures(self, where: Optional[Where] = None) -> Table:
        """Return the trials that failed, with their reasons."""
        return self.query("select * from failures" + self._sql(where))

    @staticmethod
    def _sql(where: Optional[Where]) -> str:
        quoted = {'"' + c.replace('"', '""') + '"': ", ".join(map(_literal, _values(vs))) for c, vs in (where or {}).items()}
        return "".join(f" {'and' if i else 'where'} {c} in ({vs})" for i, (c, vs) in enumerate(quoted.items()))

    def query(self, sql: str) -> Table:
        """Answer an SQL query over the views cells, curve, bounds, trials, timing, fits and failures."""
        return Table(_call("query", self.dir, "-", "--output=arrow", stdin=sql.encode()))

    def verify(self, sample: Union[str, int] = "1%", **flags: Any) -> str:
        """Make all files again, run a sample of trials again, and compare each bit. Raise IntegrityError on a difference."""
        return _call("verify", self.dir, "--quiet", f"--sample={sample}", *_flags(flags), result=self).decode()

    def plot(self, what: Optional[str] = None, *, x: Optional[str] = None, where: Optional[Where] = None, **flags: Any) -> Figures:
        """Draw figures in SVG: "n" (n* against parameters), "curve", "error", "regret", "find" or a metric; default all."""
        with tempfile.TemporaryDirectory() as folder:
            args = ["--format=svg", f"--out={folder}", *_flags({"what": what, "x": x, **flags}), *_conditions(where)]
            figures = Figures()
            for path in _call("plot", self.dir, *args).decode().splitlines():
                with _open(path, encoding="utf-8") as f:
                    text = f.read()
                if path.endswith(".txt"):  # it follows its figure
                    figures[-1].caption = text.strip()
                else:
                    figures.append(Figure(text))
                    figures[-1].name = os.path.basename(path)
        return figures

    def __str__(self) -> str:
        return _call("table", self.dir).decode()

    def __repr__(self) -> str:
        return f"<shatter.{type(self).__name__} in {self.dir}: {self.partial or 'digest ' + self.digest[:12]}>"

    def _repr_html_(self) -> str:
        head, rows, notes = _markdown(_call("table", self.dir, "--output=md").decode())
        try:
            figure = "".join(self.plot("n")[:1])
        except ShatterError:  # too few cells for a figure
            figure = ""
        lines = ([f"partial: {self.partial}"] if self.partial else []) + [notes]
        return "".join(f"<p>{html.escape(line)}</p>" for line in lines) + html_table(head, rows) + figure


def _markdown(text: str) -> tuple[list[str], list[list[Any]], str]:
    """Return the head and rows of the table in a text in Markdown, and the line above it."""
    lines = [re.split(r"(?<!\\)\|", line[2:-2]) for line in text.splitlines() if line.startswith("| ")]
    cells = [[re.sub(r"\\(.)", r"\1", c.strip()) for c in line] for line in lines]
    return cells[0], cells[2:], text.split("\n", 1)[0]


def open(dir: Union[str, "os.PathLike[str]"]) -> Result:
    """Open the output folder of a sweep."""
    if not os.path.isdir(dir):
        raise UsageError(f"{os.fspath(dir)!r} is not a folder")
    return Result(dir)


class Progress(dict[str, Any]):
    """The progress of a run: cells, decided, trials, per_second, left_seconds (None: unknown), failed, and more."""

    def __str__(self) -> str:
        left = self.get("left_seconds")
        return (f"{self.get('decided', 0)}/{self.get('cells', 0)} cells  {self.get('trials', 0):,} trials"
                + (f"  about {left:,.0f} s left" if left is not None else ""))


class Run(Result):
    """A sweep that runs in a process of its own, and its result."""

    def __init__(self, args: list[str], stdin: bytes, tolerates_partial: bool):
        self.progress = Progress()
        self.summary: dict[str, Any] = {}  # how the run ended; empty while it runs
        self._tolerates_partial = tolerates_partial
        self._cancelled, self._stopping = False, threading.Event()
        self._opened, self._ended = threading.Event(), threading.Event()
        self._text: list[str] = []
        self._process = subprocess.Popen([binary(), "run", *args, "--progress=json"], stdin=subprocess.PIPE,
                                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8", errors="replace")
        _running.add(self)
        threading.Thread(target=self._follow, args=(stdin.decode(),), daemon=True).start()
        try:
            self._opened.wait()
        except KeyboardInterrupt:
            self.cancel()
            raise
        if not self.dir:
            self.wait()

    dir = ""

    def _follow(self, stdin: str) -> None:
        """Read the events of the process until it ends."""
        try:
            self._process.stdin.write(stdin)
            self._process.stdin.close()
        except BrokenPipeError:
            pass
        for line in self._process.stderr:
            if not line.startswith("{"):
                self._text.append(line)
                if "interrupt again" in line:
                    self._stopping.set()
                continue
            event = json.loads(line)
            kind = event.pop("event")
            if kind == "opened":
                self.dir = event["dir"]
                self.progress = Progress(cells=event["cells"], decided=0, trials=0, left_seconds=None)
                self._opened.set()
            elif kind == "progress":
                self.progress = Progress(event)
            elif kind == "failure":
                self._text.append(f"trial {event['trial']} ({event['what']}) ended with {event['kind']!r}: {event['reason']}\n")
            elif kind == "done":
                self.summary = event
                self.progress = Progress(self.progress, **event, left_seconds=0)
        self._process.wait()
        _running.discard(self)
        self._opened.set()
        self._ended.set()

    @property
    def running(self) -> bool:
        """Whether the process runs."""
        return not self._ended.is_set()

    @property
    def partial(self) -> str:
        """Why cells may still be open; "" if the sweep has ended."""
        return "the sweep is running" if self.running else super().partial

    def cancel(self) -> Run:
        """Interrupt the run and wait until it has left. Its folder can be resumed: run the same sweep again."""
        self._cancelled = True
        if self.running and not self._stopping.is_set():
            self._process.send_signal(signal.SIGINT)
        self._ended.wait()
        return self

    def wait(self, timeout: Optional[float] = None) -> Run:
        """Wait until the run has ended, and return it. Raise the exception for its exit code, or TimeoutError.

        A keyboard interrupt interrupts the run.
        """
        end = None if timeout is None else time.monotonic() + timeout
        with _Display() as display:
            try:
                while not self._ended.wait(0.2 if end is None else max(0, min(0.2, end - time.monotonic()))):
                    if self.dir:
                        display.show(str(self.progress))
                    if end is not None and time.monotonic() >= end:
                        raise TimeoutError(f"the sweep still runs after {timeout} s")
            except KeyboardInterrupt:
                self._stopping.wait(0.3)  # a terminal interrupts both processes
                self.cancel()
                raise
        code = self._process.returncode
        tolerated = (self._cancelled and code == 130) or (self._tolerates_partial and self.summary.get("status") == "partial")
        if code and not tolerated:
            raise failure(code, self._reason(), self if self.summary else None)
        return self

    def _reason(self) -> str:
        """Return why the process ended with an error."""
        s = self.summary
        found = [*(s.get("alarms") or ()), *(s.get("refuted") or ())]
        if s.get("unfinished"):
            found.append(f"{s['unfinished']} of {s['cells']} cells failed or are undecided")
        return "".join(self._text) + "\n".join(found)


_running: "weakref.WeakSet[Run]" = weakref.WeakSet()


@atexit.register
def _leave() -> None:
    """Interrupt the runs that this process has started, because their progress has no reader any more."""
    for r in list(_running):
        r.cancel()


class _Display:
    """Shows a line that is rewritten: in a notebook, on a terminal, or not at all."""

    def __init__(self) -> None:
        shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
        self.notebook = type(shell).__name__ == "ZMQInteractiveShell"
        self.terminal = not self.notebook and sys.stderr is not None and sys.stderr.isatty()
        self.handle: Any = None

    def __enter__(self) -> _Display:
        return self

    def show(self, text: str) -> None:
        if self.terminal:
            sys.stderr.write(f"\r\x1b[K{text[:shutil.get_terminal_size().columns - 1]}")
            sys.stderr.flush()
        elif self.notebook:
            from IPython.display import display

            shown = {"text/plain": text}
            if self.handle is None:
                self.handle = display(shown, raw=True, display_id=True)
            else:
                self.handle.update(shown, raw=True)

    def __exit__(self, *_: Any) -> None:
        if self.terminal:
            sys.stderr.write("\r\x1b[K")
        elif self.handle is not None:
            self.handle.update({"text/plain": ""}, raw=True)


def run(source: Source, out: Optional[str] = None, budget: Union[None, int, str] = None, wait: bool = True, *,
        set: Optional[Mapping[str, Any]] = None, **flags: Any) -> Run:
    """Run a sweep, or resume it, and return its result.

    source is the path of a sweep file, or a dict with the same keys; algorithms of a dict may be learners (see
    `learner` and `sklearn`). set={"seed": 2} replaces values. flags are those of shatter run: workers=4, fresh=True.
    With wait=False it returns when the sweep has been checked and has begun; the run ends with Python.

    It raises SweepError (mistakes in the sweep), Unfinished (cells failed or are undecided), IntegrityError, Changed,
    Refuted, or another ShatterError. With a budget a partial result is no error.
    """
    args, stdin = _sweep(source, set, out)
    begun = Run([*args, *_flags({"out": out, "budget": budget, **flags})], stdin, budget is not None)
    return begun.wait() if wait else begun


class Submission:
    """A sweep on a cluster."""

    def __init__(self, id: str, flags: Mapping[str, Any]):
        self.id, self._access = id, _flags(flags)

    def status(self) -> dict[str, Any]:
        """Return the state of the sweep: state, reason, cells, decided, trials, progress and more."""
        return json.loads(_call("status", self.id, "--output=json", *self._access))

    def results(self, out: Optional[str] = None) -> Result:
        """Fetch the present result to the folder out (default shatter-out/ID), and return it."""
        out = out or os.path.join("shatter-out", self.id)
        _call("results", self.id, f"--out={out}", *self._access)
        return Result(out)

    def cancel(self) -> None:
        """Cancel the sweep and keep its outcomes."""
        _call("cancel", self.id, *self._access)

    def wait(self) -> Submission:
        """Wait until the sweep has ended. Raise the exception for its end."""
        _call("watch", self.id, "--quiet", *self._access, result=self)
        return self

    def __repr__(self) -> str:
        return f"<shatter.Submission {self.id}>"


def submit(source: Source, server: Optional[str] = None, budget: Union[None, int, str] = None, *,
           creds: Optional[str] = None, tls_ca: Optional[str] = None, **flags: Any) -> Submission:
    """Submit a sweep to a cluster (default $SHATTER_SERVER), whose coordinator runs it."""
    access = {"server": server, "creds": creds, "tls_ca": tls_ca}
    args, stdin = _sweep(source, None, None)
    raw = _call("submit", *args, *_flags({**access, "budget": budget, **flags}), stdin=stdin)
    return Submission(raw.decode().split()[0], access)
