"""What the outcomes of a plugin may depend on besides its own file: interpreter, imported packages, BLAS."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import os
import platform
import re
import sys
from typing import Any, Iterator, Optional

from . import plugin_pb2 as pb

# Packages on which no outcome depends: they carry messages, or the interpreter imports them by itself.
_IGNORED = {"grpc", "google.protobuf", "google._upb", "shatter", "_distutils_hack"}
_INSTALLED = ("site-packages", "dist-packages")
_MOST_READ = 128 << 10  # of a larger file the beginning and the end are read, where linkers put a build's identity
_MOST_FILES = 20  # of a package with more files, no single one is named


def describe() -> list[pb.Component]:
    """Return the components of the environment, in the order of their names."""
    program = sys.path[0] if sys.path and os.path.isfile(sys.path[0]) else ""  # a packed program, known by its digest
    files: dict[str, dict[str, str]] = {}  # by component, then by path inside it
    for name, path in [*_imported(), *_imported_later(program)]:
        if not (program and path.startswith(program)) and not _standard(path):
            component, base = _component(name, path)
            if component not in _IGNORED:
                files.setdefault(component, {})[os.path.relpath(path, base)] = path
    components = [_package(name, paths) for name, paths in files.items()]
    components.append(pb.Component(name="python", version=platform.python_version(), digest=_digest(sys.version.encode())))
    libc = os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in os.confstr_names else platform.platform()
    components.append(pb.Component(name="libc", version=libc))
    components += _blas()
    return sorted(components, key=lambda c: c.name)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _file_digest(path: str) -> str:
    """Return a digest of a file's content; "" if it cannot be read."""
    try:
        with open(path, "rb") as f:
            size = os.fstat(f.fileno()).st_size
            content = f.read(size if size <= _MOST_READ else _MOST_READ // 2)
            if size > _MOST_READ:
                f.seek(-_MOST_READ // 2, os.SEEK_END)
                content += f.read() + str(size).encode()
            return _digest(content)
    except OSError:
        return ""


def _imported() -> Iterator[tuple[str, str]]:
    """Yield names and files of imported modules."""
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None)
        if name != "__main__" and isinstance(path, str) and path:
            yield name, path


def _imported_later(program: str) -> Iterator[tuple[str, str]]:
    """Yield names and files of packages that functions of the program import when they are called."""
    for module in list(sys.modules.values()):
        if not program or not str(getattr(module, "__file__", "")).startswith(program):
            continue
        try:
            tree = ast.parse(module.__spec__.loader.get_source(module.__spec__.name) or "")
        except (AttributeError, ImportError, SyntaxError):
            continue
        for package in {p for node in ast.walk(tree) for p in _names(node)} - set(sys.modules):
            try:
                spec = importlib.util.find_spec(package)
            except (ImportError, ValueError):
                continue
            if spec and spec.origin and os.path.isfile(spec.origin):
                yield package, spec.origin


def _names(node: Any) -> list[str]:
    """Return the packages that a statement imports."""
    if isinstance(node, ast.Import):
        return [alias.name.partition(".")[0] for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [node.module.partition(".")[0]]
    return []


def _standard(path: str) -> bool:
    """Report whether a file belongs to the standard library, which the interpreter's version covers."""
    rest = os.path.relpath(path, os.path.dirname(os.__file__))
    return not rest.startswith("..") and rest.partition(os.sep)[0] not in _INSTALLED


def _component(name: str, path: str) -> tuple[str, str]:
    """Return the component that a module belongs to, and the folder from which its files are named."""
    parts = name.split(".")
    depth = 1
    while depth < len(parts) and getattr(sys.modules.get(".".join(parts[:depth])), "__file__", "") is None:
        depth += 1  # a namespace, such as google, holds packages of several makers
    top = sys.modules.get(".".join(parts[:depth]))
    at = getattr(top, "__file__", None) or path
    return ".".join(parts[:depth]), os.path.dirname(at)


def _package(name: str, paths: dict[str, str]) -> pb.Component:
    digests = {inside: _file_digest(path) for inside, path in sorted(paths.items())}
    version = getattr(sys.modules.get(name), "__version__", None)
    if not isinstance(version, str):
        version = _installed_version(name, next(iter(paths.values())))
    return pb.Component(name=name, version=version or "", digest=_digest(repr(digests).encode()),
                        files=digests if len(digests) <= _MOST_FILES else None)


def _installed_version(name: str, path: str) -> Optional[str]:
    """Return the version that an installer has recorded next to a package."""
    start = re.compile(re.escape(name.partition(".")[0]).replace("_", "[-_.]") + r"-([^-]+)\.(dist|egg)-info", re.IGNORECASE)
    for folder in (os.path.dirname(path), os.path.dirname(os.path.dirname(path))):
        for entry in os.listdir(folder) if os.path.basename(folder) in _INSTALLED and os.access(folder, os.R_OK) else ():
            if found := start.match(entry):
                return found[1]
    return None


def _blas() -> list[pb.Component]:
    """Return the libraries for linear algebra that are loaded, with their number of threads."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            paths = {line.split(None, 5)[5].strip() for line in maps if re.search(r"/lib[^/]*(blas|lapack|mkl|blis)[^/]*\.so", line)}
    except OSError:
        return []
    if not paths:
        return []
    threads = os.environ.get("OMP_NUM_THREADS", "any")
    names = sorted({os.path.basename(path) for path in paths})
    return [pb.Component(name="blas", version=f"{', '.join(names)}, threads {threads}",
                         digest=_digest(repr(sorted(_file_digest(path) for path in paths)).encode()))]
