"""Reads Arrow streams with numpy alone, so that results can be read where pyarrow is not installed."""

from __future__ import annotations

import html
import struct
from collections.abc import Iterator
from typing import Any, Optional

import numpy as np

_SCHEMA, _BATCH = 1, 3  # kinds of messages
_NULL, _INT, _FLOAT, _UTF8, _BOOL, _DECIMAL, _DATE, _TIMESTAMP = 1, 2, 3, 5, 6, 7, 8, 10  # kinds of columns
_TICKS = "s", "ms", "us", "ns"
_MOST_SHOWN = 50  # rows in a notebook


class _Flat:
    """A table of a flatbuffer."""

    def __init__(self, raw: bytes, at: int):
        self.raw, self.at = raw, at
        self.fields = at - struct.unpack_from("<i", raw, at)[0]
        self.size = struct.unpack_from("<H", raw, self.fields)[0]

    @classmethod
    def root(cls, raw: bytes) -> _Flat:
        return cls(raw, struct.unpack_from("<I", raw, 0)[0])

    def where(self, field: int) -> int:
        """Return the offset of a field; 0 if it is left out."""
        slot = 4 + 2 * field
        offset = struct.unpack_from("<H", self.raw, self.fields + slot)[0] if slot < self.size else 0
        return self.at + offset if offset else 0

    def number(self, field: int, kind: str, default: int = 0) -> int:
        at = self.where(field)
        return struct.unpack_from("<" + kind, self.raw, at)[0] if at else default

    def follow(self, field: int) -> int:
        at = self.where(field)
        return at + struct.unpack_from("<I", self.raw, at)[0] if at else 0

    def table(self, field: int) -> _Flat:
        return _Flat(self.raw, self.follow(field))

    def text(self, field: int) -> str:
        at = self.follow(field)
        return self.raw[at + 4:at + 4 + struct.unpack_from("<I", self.raw, at)[0]].decode() if at else ""

    def tables(self, field: int) -> list[_Flat]:
        at = self.follow(field)
        places = [at + 4 + 4 * i for i in range(struct.unpack_from("<I", self.raw, at)[0] if at else 0)]
        return [_Flat(self.raw, p + struct.unpack_from("<I", self.raw, p)[0]) for p in places]

    def pairs(self, field: int) -> list[tuple[int, int]]:
        """Return a vector of structs of two int64."""
        at = self.follow(field)
        count = struct.unpack_from("<I", self.raw, at)[0] if at else 0
        return [struct.unpack_from("<qq", self.raw, at + 4 + 16 * i) for i in range(count)]


def _messages(raw: bytes) -> Iterator[tuple[_Flat, memoryview]]:
    """Yield the messages of a stream with their bodies."""
    at = 0
    while at + 8 <= len(raw):
        mark, size = struct.unpack_from("<Ii", raw, at)
        if mark != 0xFFFFFFFF or size == 0:
            return
        message = _Flat.root(raw[at + 8:at + 8 + size])
        body = at + 8 + size
        at = body + message.number(3, "q")
        yield message, memoryview(raw)[body:at]


class _Column:
    """The name and type of a column."""

    def __init__(self, field: _Flat):
        self.name, self.kind = field.text(0), field.number(2, "B")
        kind = field.table(3)
        self.scale, self.dtype = 0, None
        if self.kind == _INT:
            self.dtype = np.dtype(f"<{'i' if kind.number(1, 'B') else 'u'}{kind.number(0, 'i') // 8}")
        elif self.kind == _FLOAT:
            self.dtype = np.dtype(f"<f{2 << kind.number(0, 'h')}")
        elif self.kind == _DATE:
            self.dtype = np.dtype("<M8[ms]" if kind.number(0, "h", 1) else "<i4")
        elif self.kind == _TIMESTAMP:
            self.dtype = np.dtype(f"<M8[{_TICKS[kind.number(0, 'h')]}]")
        elif self.kind == _DECIMAL:
            self.scale = kind.number(1, "i")
        elif self.kind not in (_NULL, _UTF8, _BOOL):
            raise TypeError(f"column {self.name!r} has a type that numpy lacks: cast it in SQL, or use .arrow(), which needs pyarrow")

    def read(self, rows: int, valid: memoryview, buffers: list[memoryview]) -> np.ma.MaskedArray:
        """Return the values of one batch; nulls are masked."""
        if self.kind == _NULL:
            return np.ma.masked_all(rows, object)
        mask = ~_bits(valid, rows) if len(valid) else np.zeros(rows, bool)
        if self.kind == _UTF8:
            ends, chars = np.frombuffer(buffers[0], "<i4", rows + 1) if rows else [0], bytes(buffers[1])
            values = np.array([chars[ends[i]:ends[i + 1]].decode() for i in range(rows)], object)
        elif self.kind == _BOOL:
            values = _bits(buffers[0], rows)
        elif self.kind == _DECIMAL:
            whole = [int.from_bytes(buffers[0][16 * i:16 * i + 16], "little", signed=True) for i in range(rows)]
            values = np.array([w / 10**self.scale for w in whole], float)
            if self.scale == 0 and all(-2**63 <= w < 2**63 for w in whole):
                values = np.array(whole, np.int64)
        else:
            values = np.frombuffer(buffers[0], self.dtype, rows)
            if self.kind == _DATE and self.dtype.kind == "i":
                values = values.astype("<M8[D]")
        return np.ma.MaskedArray(values, mask)


def _bits(raw: memoryview, rows: int) -> np.ndarray:
    return np.unpackbits(np.frombuffer(raw, np.uint8), bitorder="little")[:rows].astype(bool)


class Table:
    """A table of a result: an Arrow stream whose columns are read by numpy.

    table["n_high"] is a numpy array, masked where there are nulls; rows() has a dict for each row, with None.
    pandas() and arrow() convert it. Libraries that know Arrow's PyCapsule interface, such as pyarrow, polars and
    DuckDB, take it as it is if pyarrow is installed.
    """

    def __init__(self, stream: bytes):
        self.stream = stream
        self._read: Optional[dict[str, Any]] = None

    def _columns(self) -> dict[str, Any]:
        if self._read is not None:
            return self._read
        columns: list[_Column] = []
        batches: list[list[np.ma.MaskedArray]] = []
        for message, body in _messages(self.stream):
            header, kind = message.table(2), message.number(1, "B")
            if kind == _SCHEMA:
                columns = [_Column(f) for f in header.tables(1)]
                batches = [[] for _ in columns]
            elif kind == _BATCH:
                rows, buffers = header.number(0, "q"), [body[o:o + n] for o, n in header.pairs(2)]
                for column, parts in zip(columns, batches):
                    count = {_NULL: 0, _UTF8: 3}.get(column.kind, 2)
                    valid, *mine = buffers[:count] or [memoryview(b"")]
                    parts.append(column.read(rows, valid, mine))
                    buffers = buffers[count:]
        read = {}
        for column, parts in zip(columns, batches):
            whole = np.ma.concatenate(parts) if parts else np.ma.MaskedArray(np.empty(0, column.dtype or object))
            read[column.name] = whole if np.ma.is_masked(whole) else whole.data
        self._read = read
        return read

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._columns())

    def __len__(self) -> int:
        return len(next(iter(self._columns().values()), ()))

    def __getitem__(self, column: str) -> np.ndarray:
        found = self._columns()
        if column not in found:
            raise KeyError(f"no column {column!r}: there are {', '.join(found)}")
        return found[column]

    def rows(self) -> list[dict[str, Any]]:
        """Return a dict for each row, whose values are Python's, and None for nulls."""
        found = self._columns()
        return [dict(zip(found, values)) for values in zip(*(c.tolist() for c in found.values()))]

    def pandas(self) -> Any:
        """Return a pandas.DataFrame whose columns have nullable types."""
        import pandas

        kinds = {"i": "Int", "u": "UInt", "f": "Float"}
        frame = {}
        for name, column in self._columns().items():
            values, mask, dtype = np.ma.getdata(column), np.ma.getmaskarray(column), column.dtype
            if dtype.kind == "M":
                frame[name] = pandas.Series(np.where(mask, np.datetime64("NaT"), values))
                continue
            kind = {"b": "boolean", "O": "string"}.get(dtype.kind) or f"{kinds[dtype.kind]}{8 * dtype.itemsize}"
            frame[name] = pandas.array([None if m else v for v, m in zip(values.tolist(), mask)], dtype=kind)
        return pandas.DataFrame(frame)

    def arrow(self) -> Any:
        """Return a pyarrow.Table. It needs pyarrow."""
        import pyarrow

        return pyarrow.ipc.open_stream(self.stream).read_all()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.arrow().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<shatter.Table of {len(self)} rows with the columns {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        shown = [n for n, c in self._columns().items() if not np.ma.getmaskarray(c).all()]
        rows = [[r[n] for n in shown] for r in self.rows()[:_MOST_SHOWN]]
        left = f"<p>{_MOST_SHOWN} of {len(self)} rows</p>" if len(self) > _MOST_SHOWN else ""
        return html_table(shown, rows) + left


def html_table(head: list[str], rows: list[list[Any]]) -> str:
    """Return a table in HTML. None is shown as a dash."""

    def cell(v: Any) -> str:
        return "-" if v is None else html.escape(f"{v:.4g}" if isinstance(v, float) else str(v))

    lines = ["".join(f"<td>{cell(v)}</td>" for v in row) for row in rows]
    return ("<table><thead><tr>" + "".join(f"<th>{cell(h)}</th>" for h in head) + "</tr></thead><tbody>"
            + "".join(f"<tr>{line}</tr>" for line in lines) + "</tbody></table>")
