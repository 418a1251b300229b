"""Writes learners that were defined in a notebook to plugin files."""

from __future__ import annotations

import ast
import builtins
import inspect
import os
import re
import symtable
import sys
import sysconfig
import textwrap
from collections.abc import Mapping
from types import FunctionType, ModuleType
from typing import Any, Callable

from .._api import Algorithm
from .._learner import EstimatorAlgorithm, FunctionAlgorithm
from ._errors import CaptureError

_REMEDY = ("Compute it inside the function, pass it as an argument after * with a default, or write a plugin file: see "
           "plugins/tutorial-python.md")


def with_plugins(source: Mapping[str, Any], folder: str, build: Callable[..., Any]) -> Mapping[str, Any]:
    """Return a sweep in which each learner is replaced by its name, and its plugin listed, which is built in the folder."""
    plugins: dict[str, Algorithm] = {}

    def named(a: Any) -> Any:
        if isinstance(a, Mapping):
            return {**a, "use": named(a.get("use"))} if "use" in a else a
        if isinstance(a, type) or callable(a) and not isinstance(a, Algorithm):
            raise CaptureError(f"{a!r} is no learner: put the decorator @shatter.learner() on it")
        if not isinstance(a, Algorithm):
            return a
        if plugins.setdefault(a.name, a) is not a:
            raise CaptureError(f"two learners are called {a.name!r}: give one of them another name=")
        return a.name

    def resolved(part: Mapping[str, Any]) -> dict[str, Any]:
        part = dict(part)
        if isinstance(part.get("algorithms"), (list, tuple)):
            part["algorithms"] = [named(a) for a in part["algorithms"]]
        return part

    sweep = resolved(source)
    if isinstance(sweep.get("grids"), (list, tuple)):
        sweep["grids"] = [resolved(g) for g in sweep["grids"]]
    paths = []
    for a in plugins.values():
        path = os.path.join(folder, re.sub("[^a-z0-9]", "_", a.name))
        text, files = plugin_text(a)
        os.makedirs(folder, exist_ok=True)
        with open(path + ".py", "w", encoding="utf-8") as f:
            f.write(text)
        build(path + ".py", *files, "--out", path)
        paths.append(os.path.join(".", path))
    if paths:
        sweep["plugins"] = [*sweep.get("plugins", ()), *paths]
    return sweep


def plugin_text(a: Algorithm) -> tuple[str, list[str]]:
    """Return the text of a plugin file that serves a learner, and the files of the user's modules that it imports."""
    c = _Capture()
    if isinstance(a, FunctionAlgorithm):
        c.add_source(a.function)
        served = a.function.__name__
    elif isinstance(a, EstimatorAlgorithm):
        served = f"shatter.sklearn({c.expression(a.estimator)}, name={a.name!r})"
    else:
        raise CaptureError(f"{a.name} is a class: write it to a plugin file, and list it under plugins")
    head = f"#!{sys.executable}\n# Written by shatter.run: changes are lost.\n"
    parts = ["\n".join(sorted({"import shatter", *c.imports})), *c.parts]
    return f"{head}{chr(10).join(p + chr(10) for p in parts)}\nif __name__ == \"__main__\":\n    shatter.serve({served})\n", c.files


class _Capture:
    """Collects the code that a function needs."""

    def __init__(self) -> None:
        self.imports: set[str] = set()
        self.parts: list[str] = []  # constants and definitions, each behind those that it uses
        self.files: list[str] = []
        self.seen: dict[str, Any] = {}

    def add_source(self, function: Any) -> None:
        """Add a function or a class, and before it what it uses."""
        try:
            text = textwrap.dedent(inspect.getsource(function))
            tree = ast.parse(text)
        except (OSError, TypeError, SyntaxError) as error:
            raise CaptureError(f"the source of {function!r} cannot be found ({error}): write a plugin file") from None
        if not isinstance(tree.body[0], (ast.FunctionDef, ast.ClassDef)):
            raise CaptureError(f"{text.strip()!r} is a lambda: use def instead")
        if isinstance(function, FunctionType):
            known = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
        else:
            known = vars(sys.modules[function.__module__])
        for name in sorted(_free(symtable.symtable(text, "<cell>", "exec"))):
            if name in known:
                self.add(name, known[name], function)
            elif not hasattr(builtins, name):
                raise CaptureError(f"{function.__name__} uses {name!r}, which is not defined")
        self.parts.append(text)

    def add(self, name: str, v: Any, user: Any) -> None:
        """Add the value of a name: an import, a definition or a constant."""
        if name in self.seen:
            if self.seen[name] is not v:
                raise CaptureError(f"{name!r} stands for two things in the functions of {user.__name__}: rename one")
            return
        self.seen[name] = v
        if getattr(v, "function", None) is user:  # the learner itself
            return
        home = getattr(v, "__module__", None)
        if isinstance(v, ModuleType):
            self.imports.add(f"import {v.__name__}" + (f" as {name}" if name != v.__name__ else ""))
            self.add_file(v)
        elif isinstance(v, (FunctionType, type)) and home == user.__module__:
            if v.__name__ == "<lambda>":
                raise CaptureError(f"{user.__name__} uses {name!r}, a lambda: use def instead of lambda")
            if v.__name__ != name:
                raise CaptureError(f"{user.__name__} uses {name!r}, another name of {v.__name__!r}: use that")
            self.add_source(v)
        elif isinstance(home, str) and getattr(sys.modules.get(home), getattr(v, "__name__", ""), None) is v:
            self.imports.add(f"from {home} import {v.__name__}" + (f" as {name}" if name != v.__name__ else ""))
            self.add_file(sys.modules[home])
        elif _is_constant(v):
            self.parts.append(f"{name} = {v!r}\n")
        else:
            raise CaptureError(f"{user.__name__} uses {name!r}, a {type(v).__name__} that lives in this session alone. {_REMEDY}")

    def add_file(self, module: ModuleType) -> None:
        """Add the file of a module that is the user's own and not installed."""
        path = getattr(module, "__file__", None) or ""
        installed = [sysconfig.get_path("stdlib"), os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
        if (path.endswith(".py") and "." not in module.__name__ and "-packages" not in path
                and not any(path.startswith(p + os.sep) for p in installed) and path not in self.files):
            self.files.append(path)

    def expression(self, v: Any) -> str:
        """Return an expression for the parameters of an estimator, or for one inside another."""
        if _is_constant(v):
            return repr(v)
        if isinstance(v, (list, tuple)):
            inner = ", ".join(map(self.expression, v))
            return f"[{inner}]" if isinstance(v, list) else f"({inner},)"
        if not hasattr(v, "get_params"):
            raise CaptureError(f"{v!r} in an estimator cannot be written to a plugin file: write one by hand, with "
                               "shatter.serve(shatter.sklearn(...))")
        kind = type(v)
        home = re.sub(r"\._.*", "", kind.__module__)
        if getattr(sys.modules.get(home), kind.__name__, None) is not kind:
            home = kind.__module__
        if home == "__main__":
            raise CaptureError(f"{kind.__name__} is defined in this session: put it into a module, and import it")
        self.imports.add(f"from {home} import {kind.__name__}")
        defaults = inspect.signature(kind).parameters
        given = {k: p for k, p in v.get_params(deep=False).items() if k not in defaults or p is not defaults[k].default}
        return f"{kind.__name__}({', '.join(f'{k}={self.expression(p)}' for k, p in given.items())})"


def _free(table: symtable.SymbolTable, top: bool = True) -> set[str]:
    """Return the names that a definition takes from outside."""
    symbols = table.get_symbols()
    names = {s.get_name() for s in symbols if s.is_referenced() and (top or s.is_global())}
    names = names.union(*(_free(child, False) for child in table.get_children()))
    return names - {s.get_name() for s in symbols if s.is_assigned()} if top else names


def _is_constant(v: Any) -> bool:
    """Report whether the text of a value is the value."""
    try:
        return type(v) in (int, float, complex, str, bytes, bool, type(None), tuple, list, dict, set) and \
            ast.literal_eval(repr(v)) == v
    except (ValueError, SyntaxError, RecursionError):
        return False
