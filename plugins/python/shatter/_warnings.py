"""Counts what the author's code, or a library, reports by the module warnings."""

from __future__ import annotations

import sys
import warnings
from typing import Any

_count, _first = 0, ""
_shown: set[tuple[str, int]] = set()
_show = warnings.showwarning


def count() -> None:
    """Count warnings from now on, each time that one is given unless a filter ignores it. Each line of code is shown once."""
    warnings.showwarning = _counted
    warnings.simplefilter("always", append=True)


def _counted(message: Any, category: Any, filename: str, lineno: int, *more: Any, **named: Any) -> None:
    global _count, _first
    _count += 1
    _first = _first or f"{category.__name__}: {message}"
    if (filename, lineno) not in _shown:
        _shown.add((filename, lineno))
        _show(message, category, filename, lineno, *more, **named)
        sys.stderr.flush()


def take() -> dict[str, Any]:
    """Return the number and the first text of the warnings since the last call, as fields of Closed."""
    global _count, _first
    taken = {"warnings": _count, "warning": _first.encode("utf-8", "replace")[:4096].decode("utf-8", "ignore")}
    _count, _first = 0, ""
    return taken
