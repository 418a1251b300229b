//go:build cgo

package query

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/flight"
	"github.com/apache/arrow/go/v17/arrow/flight/flightsql"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"google.golang.org/protobuf/proto"

	"github.com/shatterlab/shatter/pipeline/dataset"
)

// Tickets and handles of prepared statements come back from clients as anything.
func FuzzTicket(f *testing.F) {
	ticket, err := flightsql.CreateStatementQueryTicket([]byte("select 1"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(ticket)
	one := int64(1)
	handle, err := prepared{SQL: "select ?", Values: []typed{{Int: &one}, {}}}.handle()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(handle)
	f.Fuzz(func(t *testing.T, raw []byte) {
		if ticket, err := flightsql.GetStatementQueryTicket(&flight.Ticket{Ticket: raw}); err == nil {
			_ = readable(string(ticket.GetStatementHandle())) // any SQL may come
		}
		p, values, err := readHandle(raw)
		if err != nil {
			return
		}
		again, err := typedValues(values)
		if err != nil || len(again) != len(p.Values) {
			t.Errorf("%+v: %d values, %v", p, len(again), err)
		}
	})
}

// messages is a stream of Flight messages.
type messages []*flight.FlightData

func (m *messages) Send(d *flight.FlightData) error {
	*m = append(*m, proto.Clone(d).(*flight.FlightData))
	return nil
}

func (m *messages) Recv() (*flight.FlightData, error) {
	if len(*m) == 0 {
		return nil, io.EOF
	}
	d := (*m)[0]
	*m = (*m)[1:]
	return d, nil
}

// Parameters come as Arrow in Flight messages: they end in values, in an error, or in a panic that the
// door turns into one, and ask for no more memory than a request may.
func FuzzParameters(f *testing.F) {
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{
		{Name: "1", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "2", Type: arrow.PrimitiveTypes.Int64},
	}, nil))
	defer b.Release()
	b.Field(0).(*array.StringBuilder).Append("text")
	b.Field(1).(*array.Int64Builder).Append(7)
	rec := b.NewRecord()
	defer rec.Release()
	var sent messages
	w := flight.NewRecordWriter(&sent, ipc.WithSchema(rec.Schema()))
	if err := errors.Join(w.Write(rec), w.Close()); err != nil {
		f.Fatal(err)
	}
	f.Add(sent[0].GetDataHeader(), sent[1].GetDataHeader(), sent[1].GetDataBody())
	f.Fuzz(func(t *testing.T, schema, header, body []byte) {
		var err error
		defer mend(&err)
		for _, m := range [][]byte{schema, header} {
			if dataset.CheckMessage(m) != nil {
				return
			}
		}
		stream := messages{{DataHeader: schema}, {DataHeader: header, DataBody: body}}
		r, err := flight.NewRecordReader(&stream, ipc.WithAllocator(modest{memory.DefaultAllocator, maxPiece}))
		if err != nil {
			return
		}
		defer r.Release()
		for r.Next() && r.Record().NumRows() > 0 {
			for _, c := range r.Record().Columns() {
				if v, err := parameter(c); err == nil {
					_ = v.value()
				}
			}
		}
	})
}

// The lines between the two processes are read one by one, and none is longer than the limit and a
// buffer.
func FuzzLine(f *testing.F) {
	f.Add([]byte("{\"SQL\":\"select 1\"}\n{\"Error\":\"no\",\"Kind\":\"sql\"}\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		in, read := bufio.NewReaderSize(bytes.NewReader(raw), 16), 0
		for {
			line, err := readLine(in, 100)
			if err != nil {
				break
			}
			if read += len(line) + 1; len(line) > 116 || read > len(raw) {
				t.Fatalf("a line of %d bytes, %d of %d read", len(line), read, len(raw))
			}
			var q question
			var r reply
			if json.Unmarshal(line, &r) == nil && r.err() == nil && r.Error != "" {
				t.Errorf("%+v is no error", r)
			}
			_ = json.Unmarshal(line, &q)
		}
	})
}
