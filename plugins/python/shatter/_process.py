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

import ctypes  # noqa: E402
import faulthandler  # noqa: E402
import itertools  # noqa: E402
import mmap  # noqa: E402
import platform  # noqa: E402
import signal  # noqa: E402
import socket  # noqa: E402
import tempfile  # noqa: E402
import threading  # noqa: E402
import time  # noqa: E402
from typing import Any, Callable, Iterator, NoReturn, Sequence  # noqa: E402

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

# The layout of the mailbox: see plugin.proto. Words are counted in units of 4 bytes.
_ASKED, _REQUEST_LENGTH, _ANSWERED, _RESPONSE_LENGTH, _BEGUN, _DONE, _BEATS = 0, 1, 16, 17, 18, 19, 20
_REQUEST_AT, _RESPONSE_AT, _VALUES_AT, _MARKS_AT, _MOST_ANSWERS = 4096, 4198400, 8392704, 8916992, 65536
_FUTEX_SYSCALL, _FUTEX_WAIT, _FUTEX_WAKE = 202, 0, 1  # of x86-64, where stores are seen in their order


def serve(algorithms: Sequence[Any], version: str) -> None:
    try:
        from ._service import Service
        service = Service(algorithms, f"shatter for Python {version}, Python {platform.python_version()}, numpy {np.__version__}")
        if not _COOKIE and not os.environ.get("SHATTER_ATTACH"):
            raise ValueError(_by_hand(sorted(service.served)))
        import grpc
    except ImportError as error:
        _quit(f"{error}: {NEEDED}")
    except ValueError as error:
        _quit(str(error))
    faulthandler.enable()
    if not _COOKIE:
        _serve_attached(grpc, service)
        return
    faulthandler.register(signal.SIGQUIT, chain=False)  # a host asks where the process hangs before it kills it
    path = os.path.join(os.environ["PLUGIN_UNIX_SOCKET_DIR"], "socket")
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

    A host sends one message, with its memory files of sessions and of the dataset, and gets the line of the
    handshake, with the address of a server that is its own and lasts as long as the connection.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="shatter-attach-") as folder, socket.socket(socket.AF_UNIX) as listener:
        path = os.path.join(folder, "socket")
        listener.bind(path)
        listener.listen()
        print(f"process {os.getpid()} serves {', '.join(sorted(service.served))}; give this to shatter run, trial or plugin "
              f"test:  --attach {path}", file=sys.stderr, flush=True)
        try:
            for count in itertools.count():
                connection, _ = listener.accept()
                threading.Thread(target=_serve_host, args=(grpc, service, connection, f"{path}{count}"), daemon=True).start()
        except KeyboardInterrupt:
            pass


def _serve_host(grpc: Any, service: Any, connection: socket.socket, path: str) -> None:
    with connection:
        message, descriptors, _, _ = socket.recv_fds(connection, 1, 2)
        if not message:
            return  # it only looked whether anybody listens
        if len(descriptors) != 2:
            print(f"a host sent {len(descriptors)} memory files, and 2 are due: use shatter of the release of this SDK",
                  file=sys.stderr)
            return
        server = _server(grpc, service.share(*descriptors), False)
        server.add_insecure_port("unix:" + path)
        server.start()
        connection.sendall(f"1|1|unix|{path}|grpc\n".encode())
        connection.recv(1)  # until the host is gone
        server.stop(None)
        for descriptor in descriptors:
            os.close(descriptor)


def _server(grpc: Any, service: Any, inherited: bool = True) -> Any:
    from concurrent import futures

    from . import plugin_pb2 as pb

    mailbox = None

    def describe(request: Any, _context: Any) -> Any:
        nonlocal mailbox
        if inherited and request.mailbox and platform.machine() == "x86_64" and sys.platform == "linux" and mailbox is None:
            mailbox = Mailbox(service)
            threading.Thread(target=mailbox.serve, daemon=True).start()
            threading.Thread(target=mailbox.beat, daemon=True).start()
        return service.describe(mailbox is not None)

    def session(requests: Iterator[Any], context: Any) -> Iterator[Any]:
        from ._service import Session

        s = Session(service, lambda n: (np.empty(n), np.empty(n, np.uint8)))
        with service.turn:
            for q in requests:
                try:
                    r = s.answer(q)
                except Exception as error:
                    context.abort(grpc.StatusCode.INVALID_ARGUMENT, repr(error))
                if r.HasField("answers"):
                    r.answers.values = s.values.astype("<f8").tobytes()
                    r.answers.marks = s.marks.tobytes() if q.step.play and not s.online else b""
                yield r

    def unary(call: Callable[..., Any], request: Any, response: Any) -> Any:
        return grpc.unary_unary_rpc_method_handler(call, request.FromString, response.SerializeToString)

    server = grpc.server(futures.ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("shatter.plugin.v1.Plugin", {
        "Describe": unary(describe, pb.DescribeRequest, pb.DescribeResponse),
        "Check": unary(lambda w, _: service.check(w), pb.Setting, pb.CheckResponse),
        "Bound": unary(lambda w, _: service.bound(w), pb.Setting, pb.BoundResponse),
        "Ask": unary(lambda q, _: service.ask(q), pb.AskRequest, pb.AskResponse),
        "Session": grpc.stream_stream_rpc_method_handler(
            session, pb.SessionRequest.FromString, pb.SessionResponse.SerializeToString),
    })])
    return server


class Mailbox:
    """Takes sessions from the memory at descriptor 6 and answers them there."""

    def __init__(self, service: Any):
        self.service = service
        self.memory = mmap.mmap(6, 0)
        self.words = memoryview(self.memory).cast("I")
        self.values = np.frombuffer(self.memory, "<f8", _MOST_ANSWERS, _VALUES_AT)
        self.marks = np.frombuffer(self.memory, np.uint8, _MOST_ANSWERS, _MARKS_AT)
        self.syscall = ctypes.CDLL(None).syscall
        self.asked, self.answered = (
            ctypes.c_void_p(ctypes.addressof(ctypes.c_uint32.from_buffer(self.memory, 4 * w))) for w in (_ASKED, _ANSWERED))
        self.count = 0

    def beat(self) -> None:
        """Tell the host once a second that the process lives."""
        while True:
            time.sleep(1)
            self.words[_BEATS] = (self.words[_BEATS] + 1) & 0xFFFFFFFF

    def room(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        return self.values[:n], self.marks[:n]

    def next(self) -> Any:
        """Wait for the next request."""
        from . import plugin_pb2 as pb

        words = self.words
        while words[_ASKED] == self.count:
            self.syscall(_FUTEX_SYSCALL, self.asked, _FUTEX_WAIT, ctypes.c_uint32(self.count), None, None, 0)
        self.count = words[_ASKED]
        words[_BEGUN] = words[_DONE] = 0
        return pb.SessionRequest.FromString(self.memory[_REQUEST_AT:_REQUEST_AT + words[_REQUEST_LENGTH]])

    def respond(self, response: Any) -> None:
        message = response.SerializeToString()
        self.memory[_RESPONSE_AT:_RESPONSE_AT + len(message)] = message
        self.words[_RESPONSE_LENGTH] = len(message)
        self.words[_ANSWERED] = self.count
        self.syscall(_FUTEX_SYSCALL, self.answered, _FUTEX_WAKE, 1, None, None, 0)

    def serve(self) -> None:
        """Answer sessions, one after another, until the process ends."""
        while True:
            request = self.next()
            with self.service.turn:
                self.session(request)

    def session(self, request: Any) -> None:
        """Answer one session, which begins with a request."""
        from . import plugin_pb2 as pb
        from ._service import Session

        session = Session(self.service, self.room, self.words)
        while True:
            try:
                response = session.answer(request)
                if response.HasField("answers"):
                    response.answers.rows = len(session.values)
            except Exception as error:
                self.respond(pb.SessionResponse(failure=repr(error)))
                return
            self.respond(response)
            if request.HasField("close"):
                return
            request = self.next()
