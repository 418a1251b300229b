"""The process of a plugin: its descriptors, its handshake, and the ways by which messages come."""

from __future__ import annotations

import os
import sys

_COOKIE = os.environ.get("SHATTER_PLUGIN") == "5f0e8a4b1c9d4e0fa7d2"  # a host started this process
_handshake = -1  # descriptor of standard output as the host gave it

if _COOKIE:
    # Standard output carries the handshake alone. What the author, or a library, prints goes to standard
    # error from here on, line by line, so that it is there if the process ends.
    _handshake = os.dup(1)
    os.dup2(2, 1)
    sys.stdout.reconfigure(line_buffering=True)
    for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(_name, "1")  # before numpy is imported: a worker has a process for each core

import contextlib  # noqa: E402
import faulthandler  # noqa: E402
import functools  # noqa: E402
import glob  # noqa: E402
import itertools  # noqa: E402
import platform  # noqa: E402
import queue  # noqa: E402
import shutil  # noqa: E402
import signal  # noqa: E402

if _COOKIE:
    # Arrays of a session are freed and made again. A new page from the system costs more than the arithmetic
    # on its numbers, so the C library keeps freed memory, and does not give each thread an arena.
    import ctypes

    try:
        for _option, _value in (-3, 32 << 20), (-1, 128 << 20), (-8, 1):  # M_MMAP_THRESHOLD, M_TRIM_THRESHOLD, M_ARENA_MAX
            ctypes.CDLL(None).mallopt(_option, _value)
    except (AttributeError, OSError):
        pass  # not glibc

if _COOKIE:  # a host asks where the process hangs before it kills it, be it in an import
    faulthandler.enable()
    faulthandler.register(signal.SIGQUIT, chain=False)

import socket  # noqa: E402
import struct  # noqa: E402
import tempfile  # noqa: E402
import threading  # noqa: E402
import time  # noqa: E402
from typing import Any, Callable, NoReturn, Sequence  # noqa: E402

NEEDED = (f"a plugin in Python needs grpcio, protobuf and numpy, in {sys.executable or 'its interpreter'} (Debian's "
          "own Python: apt-get install python3-grpcio python3-protobuf python3-numpy; elsewhere: python3 -m pip install "
          "grpcio protobuf numpy)")


def _quit(message: str) -> NoReturn:
    print(message, file=sys.stderr)
    sys.exit(2)


try:
    import numpy as np
except ImportError as _error:
    if _COOKIE:
        _quit(f"{_error}: {NEEDED}")
    raise ImportError(f"{_error}: {NEEDED}") from None

_Run = Callable[[Callable[[], None]], None]  # calls a function, in some thread, and waits for it

_REQUESTS, _RESPONSES = 6, 7  # descriptors of the pipes of sessions: see plugin.proto


def serve(algorithms: Sequence[Any], version: str) -> None:
    try:
        from . import _warnings
        from ._service import Service
        service = Service(algorithms, f"shatter for Python {version}, Python {platform.python_version()}, numpy {np.__version__}")
        if not _COOKIE and not os.environ.get("SHATTER_ATTACH"):
            raise ValueError(_by_hand(sorted(service.served)))
        import grpc
    except ImportError as error:
        _quit(f"{error}: {NEEDED}")
    except ValueError as error:
        _quit(str(error))
    if not _COOKIE:
        faulthandler.enable()
        _serve_attached(grpc, service)
        return
    _warnings.count()
    path = os.path.join(os.environ["PLUGIN_UNIX_SOCKET_DIR"], "socket")
    threading.Thread(target=_serve_sessions, args=(service, _REQUESTS, _RESPONSES), daemon=True).start()
    server = _server(grpc, service)
    server.add_insecure_port("unix:" + path)
    server.start()
    os.write(_handshake, f"1|1|unix|{path}|grpc\n".encode())
    os.close(_handshake)
    os.read(3, 1)  # until the host is gone
    os.unlink(path)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _by_hand(names: Sequence[str]) -> str:
    """Return what a person who starts the program by hand needs to know."""
    path = os.path.abspath(sys.argv[0])
    return f"""{os.path.basename(path)} is a plugin of Shatter and does nothing by itself. It serves {', '.join(names)}.

Name it in a sweep file:   plugins: [{path}]
See what it offers:        shatter plugin list {path}
Test it:                   shatter plugin test {path}
Debug it:                  start it with SHATTER_ATTACH=1 in a debugger, and attach shatter to it"""


def _serve_attached(grpc: Any, service: Any) -> None:
    """Serve hosts that attach to this process, which a person started, until a signal ends it.

    A host sends one message, with its memory files of sessions and of the dataset and its ends of the pipes of
    sessions, and gets the line of the handshake, with the address of a server that is its own and lasts as long as
    the connection. Sessions are answered in the main thread, the only one that pdb traces.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    _remove_dead()
    with tempfile.TemporaryDirectory(prefix="shatter-attach-") as folder, socket.socket(socket.AF_UNIX) as listener:
        path = os.path.join(folder, "socket")
        listener.bind(path)
        listener.listen()
        print(f"process {os.getpid()} serves {', '.join(sorted(service.served))}; give this to shatter run, trial or plugin "
              f"test:  --attach {path}", file=sys.stderr, flush=True)
        calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        threading.Thread(target=_accept, args=(grpc, service, listener, path, calls), daemon=True).start()
        try:
            while True:
                try:
                    call = calls.get(timeout=1)  # a signal that another thread receives does not interrupt it
                except queue.Empty:
                    continue
                call()
        except KeyboardInterrupt:
            pass


def _remove_dead() -> None:
    """Remove the folders of processes that were killed, at whose sockets nobody listens."""
    for folder in glob.glob(os.path.join(tempfile.gettempdir(), "shatter-attach-*")):
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(os.path.join(folder, "socket"))
            except ConnectionRefusedError:
                shutil.rmtree(folder, ignore_errors=True)
            except OSError:
                pass  # it is being made, or belongs to another user


def _accept(grpc: Any, service: Any, listener: socket.socket, path: str, calls: queue.SimpleQueue[Any]) -> None:
    def run(call: Callable[[], None]) -> None:
        ended = threading.Event()

        def both() -> None:
            call()
            ended.set()

        calls.put(both)
        ended.wait()

    for count in itertools.count():
        connection, _ = listener.accept()
        threading.Thread(target=_serve_host, args=(grpc, service, connection, f"{path}{count}", run), daemon=True).start()


def _serve_host(grpc: Any, service: Any, connection: socket.socket, path: str, run: _Run) -> None:
    with connection:
        message, descriptors, _, _ = socket.recv_fds(connection, 1, 4)
        if not message:
            return  # it only looked whether anybody listens
        if len(descriptors) != 4:
            print(f"a host sent {len(descriptors)} files, and 4 are due: use shatter of the release of this SDK",
                  file=sys.stderr)
            return
        shared = service.share(*descriptors[:2])
        threading.Thread(target=_serve_sessions, args=(shared, *descriptors[2:], run), daemon=True).start()
        server = _server(grpc, shared)
        server.add_insecure_port("unix:" + path)
        server.start()
        connection.sendall(f"1|1|unix|{path}|grpc\n".encode())
        connection.recv(1)  # until the host is gone
        server.stop(None)
        for descriptor in descriptors[:2]:
            os.close(descriptor)


def _server(grpc: Any, service: Any) -> Any:
    from concurrent import futures

    from . import plugin_pb2 as pb

    def unary(call: Callable[..., Any], request: Any, response: Any) -> Any:
        return grpc.unary_unary_rpc_method_handler(call, request.FromString, response.SerializeToString)

    server = grpc.server(futures.ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("shatter.plugin.v1.Plugin", {
        "Describe": unary(lambda _q, _: service.describe(), pb.DescribeRequest, pb.DescribeResponse),
        "Check": unary(lambda w, _: service.check(w), pb.Setting, pb.CheckResponse),
        "Bound": unary(lambda w, _: service.bound(w), pb.Setting, pb.BoundResponse),
        "Ask": unary(lambda q, _: service.ask(q), pb.AskRequest, pb.AskResponse),
        "Draw": unary(lambda q, _: service.draw(q), pb.DrawRequest, pb.DrawResponse),
    })])
    return server


class _Pipes:
    """The pipes of sessions. It sends reports of progress while a request is being answered."""

    def __init__(self, requests: int, responses: int):
        self.requests, self.responses = os.fdopen(requests, "rb"), os.fdopen(responses, "wb")
        self.lock = threading.Lock()  # held while a message is sent
        self.working: Any = None  # the session whose request is being answered

    def receive(self) -> Any:
        """Return the next request; None at the end."""
        from . import plugin_pb2 as pb

        length = self.requests.read(4)
        if len(length) < 4:
            return None
        return pb.SessionRequest.FromString(self.requests.read(struct.unpack("<I", length)[0]))

    def send(self, response: Any) -> None:
        message = response.SerializeToString()
        self.responses.write(struct.pack("<I", len(message)) + message)
        self.responses.flush()

    def report(self) -> None:
        """Send a report of progress once a second."""
        from . import plugin_pb2 as pb

        request = None
        while True:
            time.sleep(1)
            with self.lock:
                if self.working is not None and self.working is request:  # for a second already
                    session, _ = self.working
                    self.send(pb.SessionResponse(progress=pb.Progress(begun=session.begun, done=session.done)))
                request = self.working


def _serve_sessions(service: Any, requests: int, responses: int, run: _Run = lambda call: call()) -> None:
    """Answer the sessions that come by a pipe, each by a call of run, one after another, until it ends."""
    pipes = _Pipes(requests, responses)
    threading.Thread(target=pipes.report, daemon=True).start()
    while (request := pipes.receive()) is not None:
        run(functools.partial(_session, service, pipes, request))


def _session(service: Any, pipes: _Pipes, request: Any) -> None:
    """Answer one session, which begins with a request."""
    from ._service import Session

    session = Session(service)
    with service.turn, contextlib.suppress(BrokenPipeError):  # the host may be gone
        while request is not None and _answer(session, pipes, request):
            request = pipes.receive()


def _answer(session: Any, pipes: _Pipes, request: Any) -> bool:
    """Answer a request, and report whether the session goes on."""
    from . import plugin_pb2 as pb

    pipes.working = session, request
    try:
        response = session.answer(request)
    except Exception as error:
        response = pb.SessionResponse(failure=repr(error))
    with pipes.lock:
        pipes.working = None
        pipes.send(response)
    return not request.HasField("close") and not response.HasField("failure")
