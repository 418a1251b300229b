"""The exceptions of the client, by the exit codes of the program."""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Optional


class ShatterError(Exception):
    """The program shatter ended with an error. result is the sweep's result as far as it is known, or None."""

    result: Any = None


class UsageError(ShatterError):
    """A wrong argument, or a folder or file that cannot be used."""


@dataclasses.dataclass(frozen=True)
class Diagnostic:
    """A mistake in a sweep. line and column count from 1, and are 0 where the mistake has no place.

    For a sweep that is a dict they are those of its JSON text; path names the key.
    """

    file: str
    line: int
    column: int
    path: str  # such as "algorithms[1].rounds"
    message: str
    hint: str  # what was probably meant; "" if nothing is near

    def __str__(self) -> str:
        place = "" if self.file == "stdin" else f"{self.file}:{self.line}:{self.column}: "
        return place + (f"{self.path}: " if self.path else "") + self.message


class SweepError(UsageError):
    """The sweep has mistakes: diagnostics lists all of them."""

    def __init__(self, diagnostics: list[Diagnostic]):
        super().__init__("\n".join(map(str, diagnostics)))
        self.diagnostics = diagnostics


class Unfinished(ShatterError):
    """The sweep ended with failed or undecided cells. result has the rest."""


class IntegrityError(ShatterError):
    """One trial had two different outcomes, or a result does not verify."""


class NoConnection(ShatterError):
    """The server cannot be reached, or refuses the credentials."""


class Changed(ShatterError):
    """The sweep or the code of an algorithm has changed since the sweep began.

    Run again with extend=True (a changed sweep) or redo=True (changed code) to keep what still applies, or with
    fresh=True to start again.
    """


class Refuted(ShatterError):
    """The result refutes a bound or a privacy guarantee. result has the table."""


class Interrupted(ShatterError):
    """The run was interrupted from outside. Run the same sweep again to continue."""


class CaptureError(ShatterError):
    """A learner from a notebook uses something that cannot be written to a plugin file."""


_KINDS: dict[int, type[ShatterError]] = {1: Unfinished, 2: UsageError, 3: IntegrityError, 4: NoConnection, 5: Changed,
                                         6: Refuted, 130: Interrupted}
_MISTAKE = re.compile(r"(?:shatter: )?(?P<file>.+?):(?P<line>\d+):(?P<column>\d+): (?:(?P<path>[\w.\[\]]+): )?(?P<message>.*)")
_HINT = re.compile(r'did you mean "(.*?)"')


def failure(code: int, text: str, result: Any = None) -> ShatterError:
    """Return the exception for an exit code and what the program wrote on standard error."""
    if code == 2 and (found := diagnostics(text)):
        return SweepError(found)
    kind = _KINDS.get(code, ShatterError)
    if kind is Unfinished and result is None:
        kind = ShatterError
    error = kind(text.strip().removeprefix("shatter: ") or f"shatter ended with status {code}")
    error.result = result
    return error


def diagnostics(text: str) -> list[Diagnostic]:
    """Return the mistakes of a sweep that are listed in a text."""
    found = []
    for line in text.splitlines():
        m: Optional[re.Match[str]] = _MISTAKE.fullmatch(line)
        if m:
            hint = _HINT.search(m["message"])
            found.append(Diagnostic(m["file"], int(m["line"]), int(m["column"]), m["path"] or "", m["message"],
                                    hint[1] if hint else ""))
    return found
