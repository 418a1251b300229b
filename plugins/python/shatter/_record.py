"""Runs a recorded trial again: see shatter.replay."""

from __future__ import annotations

import json
import math
import struct
from typing import Any, Iterator

import numpy as np
from google.protobuf import json_format

from . import plugin_pb2 as pb
from ._api import Algorithm
from ._service import Service, Session

_MOST = 10  # differences that are told


class _Flat:
    """A table of a flatbuffer, of which the few of an Arrow file are read here: no Arrow library is needed."""

    def __init__(self, b: bytes, at: int):
        self.b, self.at = b, at

    @classmethod
    def root(cls, b: bytes, at: int) -> _Flat:
        return cls(b, at + struct.unpack_from("<I", b, at)[0])

    def field(self, number: int) -> int:
        """Return where a field lies; 0: it is absent."""
        table = self.at - struct.unpack_from("<i", self.b, self.at)[0]
        if 4 + 2 * number >= struct.unpack_from("<H", self.b, table)[0]:
            return 0
        offset = struct.unpack_from("<H", self.b, table + 4 + 2 * number)[0]
        return self.at + offset if offset else 0

    def table(self, number: int) -> _Flat:
        return _Flat.root(self.b, self.field(number))

    def vector(self, number: int) -> tuple[int, int]:
        """Return where the elements of a vector lie, and their number."""
        at = self.field(number)
        if not at:
            return 0, 0
        at += struct.unpack_from("<I", self.b, at)[0]
        return at + 4, struct.unpack_from("<I", self.b, at)[0]

    def text(self, number: int) -> str:
        at, n = self.vector(number)
        return self.b[at:at + n].decode()

    def tables(self, number: int) -> Iterator[_Flat]:
        at, n = self.vector(number)
        return (_Flat.root(self.b, at + 4 * i) for i in range(n))


class Record:
    """The record of a trial, as package plugins/record writes it: its columns and its metadata."""

    def __init__(self, path: str):
        with open(path, "rb") as f:
            b = f.read()
        try:
            self._read(b)
        except (struct.error, ValueError, KeyError, IndexError) as error:
            raise ValueError(f"{path} is no record of a trial: {error!r}; make one with: "
                             "shatter trial DIR ID --export FILE") from None

    def _read(self, b: bytes) -> None:
        if b[:6] != b"ARROW1" or b[-6:] != b"ARROW1":
            raise ValueError("it is no Arrow IPC file")
        footer = _Flat.root(b, len(b) - 10 - struct.unpack_from("<i", b, len(b) - 10)[0])
        meta = {kv.text(0): kv.text(1) for kv in footer.table(1).tables(2)}
        if meta.get("shatter.record") != "1":
            raise ValueError("its schema does not say shatter.record = 1")
        self.setting = json_format.Parse(meta["setting"], pb.Setting())
        self.seeds = [int(s) for s in meta["seeds"].split()]
        self.metrics, self.fault = json.loads(meta["metrics"]), meta["fault"]
        block, _ = footer.vector(3)
        at, head = struct.unpack_from("<qi", b, block)
        batch = _Flat.root(b, at + 8).table(2)
        rows = struct.unpack_from("<q", b, batch.field(0))[0]
        first, n = batch.vector(2)
        buffers = [b[at + head + o:at + head + o + size] for o, size in struct.iter_unpack("<qq", b[first:first + 16 * n])]
        # Two buffers of each column, but three of texts, and of a list one and those of its numbers: all
        # begin with a bitmap of nulls, of which there are none.
        column = lambda i, kind: np.frombuffer(buffers[i], kind)  # noqa: E731
        ends = column(3, "<i4")
        self.request = column(1, "<i8")[:rows]
        self.kind = [buffers[4][lo:hi].decode() for lo, hi in zip(ends, ends[1:rows + 1])]
        x = column(7, "<f8")
        dim = self.setting.problem.dim
        self.x = x[:rows * dim].reshape(rows, dim)
        self.y, self.answer = column(9, "<f8")[:rows], column(11, "<f8")[:rows]
        self.hard = column(13, "u1")[:rows]


def _bits(v: float) -> bytes:
    return struct.pack("<d", v)


class _Player:
    def __init__(self, algorithm: Algorithm, record: Record):
        self.record, self.service = record, Service([algorithm], "replay")
        self.session = Session(self.service)
        self.truths, self.fault, self.problems, self.metrics = b"", "", [], {}

    def table(self, lo: int, hi: int, before: int = 0) -> pb.Table:
        """Lay rows of the record out in what stands for shared memory, after what lies there before."""
        r, old = self.record, self.service.memory.get(pb.Table.PLACE_SESSION)
        x = r.x[lo:hi].ravel()
        memory = np.concatenate([np.zeros(1) if not before else old, x, r.y[lo:hi]])
        memory.flags.writeable = False
        self.service.memory[pb.Table.PLACE_SESSION] = memory
        at = 8 * (before or 1)
        return pb.Table(place=pb.Table.PLACE_SESSION, rows=hi - lo, dim=r.x.shape[1], x_at=at, y_at=at + 8 * len(x))

    def ask(self, **request: Any) -> pb.SessionResponse:
        response = self.session.answer(pb.SessionRequest(**request))
        faults = getattr(response, response.WhichOneof("response")).faults
        if faults and not self.fault:
            self.fault = f"{pb.Fault.Kind.Name(faults[0].kind)[5:].lower()}: {faults[0].message}"
        return response

    def play(self) -> None:
        r, requests = self.record, self.record.request
        borders = [0, *(np.flatnonzero(np.diff(requests)) + 1).tolist(), len(requests)]
        if len(requests) and requests[0] > 0:
            borders.insert(0, 0)  # nothing was shown before the first request
        shown = borders[1]
        samples = r.kind[:shown].count("sample")
        o = pb.Open(setting=r.setting, seeds=r.seeds)
        if samples:
            o.sample.CopyFrom(self.table(0, samples))
        if shown > samples:
            before = len(self.service.memory[pb.Table.PLACE_SESSION]) if samples else 0
            o.revealed.CopyFrom(self.table(samples, shown, before))
        self.ask(open=o)
        for lo, hi in zip(borders[1:], borders[2:]):
            if not self.fault:
                self.step(lo, hi)
        if not self.fault:
            self.close()

    def step(self, lo: int, hi: int) -> None:
        r, kind = self.record, self.record.kind[lo]
        truths, self.truths = self.truths, b""
        if kind == "round" and not math.isnan(r.y[lo]):
            self.truths = r.y[lo:hi].tobytes()
        self.ask(step=pb.Step(counts=[hi - lo], points=self.table(lo, hi), play=kind in ("round", "query"), truths=truths))
        if self.fault:
            return
        for i in range(lo, hi):
            at = f"row {i} ({kind} {i - lo} of request {r.request[i]}, x = {r.x[i].tolist()})"
            got, hard = float(self.session.values[i - lo]), bool(self.session.marks[i - lo])
            if _bits(got) != _bits(r.answer[i]):
                self.problems.append(f"{at}: the answer is {got!r}, and {float(r.answer[i])!r} is recorded")
            if hard != bool(r.hard[i]):
                self.problems.append(f"{at}: the query is marked as hard: {hard}, and {bool(r.hard[i])} is recorded")

    def close(self) -> None:
        response = self.ask(close=pb.Close(truths=self.truths))
        if self.fault:
            return
        want = self.record.metrics
        got = {name: struct.unpack("<d", v)[0] for name, v in response.closed.metrics.items()}
        got = {name: v for name, v in got.items() if not math.isnan(v)}
        for name in sorted({*got, *want}):
            if name not in got or name not in want or _bits(got[name]) != _bits(want[name]):
                self.problems.append(f"metric {name!r} is {got.get(name)!r}, and {want.get(name)!r} is recorded")


def play(algorithm: Algorithm, path: str) -> None:
    """Do the work of replay."""
    record = Record(path)
    player = _Player(algorithm, record)
    player.play()
    problems = player.problems
    if len(problems) > _MOST:
        problems[_MOST:] = [f"and {len(problems) - _MOST} further differences"]
    found_by_host = record.fault.startswith("answer: ")  # the worker finds it, and not the SDK
    if player.fault:
        problems.append(f"the trial fails: {player.fault}")
    elif found_by_host and not problems:
        problems.append(f"the trial fails: {record.fault}")
    elif record.fault and not found_by_host:
        problems.clear()  # no answers were recorded to compare with after the failure
    if problems:
        raise AssertionError(f"replay {path}: " + "\n".join(problems))
