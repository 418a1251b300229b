//go:build cgo

package query

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/flight"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"golang.org/x/sys/unix"
)

// The two processes speak in lines of JSON. The first line to the child are the Options, and each
// further one is a question; each has a reply. The answer itself is an Arrow IPC stream behind the
// reply, and a second reply, which says whether the answer is whole, follows the stream.

// question is what the child is asked.
type question struct {
	SQL    string
	Values []typed
	Shape  bool // only the schemas are wanted
}

// reply is what the child says before and after an answer.
type reply struct {
	Error      string
	Kind       string // sql, limit, or empty
	Views      []View // of the first reply
	Answer     []byte // schema
	Parameters []byte // schema
	Plan       bool
}

var kinds = map[string]error{"sql": ErrSQL, "limit": ErrLimit}

// failure returns a reply with an error.
func failure(err error) reply {
	for kind, is := range kinds {
		if errors.Is(err, is) {
			return reply{Error: err.Error(), Kind: kind}
		}
	}
	return reply{Error: err.Error()}
}

// err returns the error in the reply.
func (r *reply) err() error {
	switch {
	case r.Error == "":
		return nil
	case kinds[r.Kind] != nil:
		return &blame{r.Error, kinds[r.Kind]}
	}
	return errors.New(r.Error)
}

// Child answers the questions of the process that started this one, on stdin and stdout. The result
// is in the current folder. Child returns as soon as that process has ended, whatever DuckDB is
// doing, and this process has to end then.
func Child() error {
	in, lines := bufio.NewReader(os.Stdin), make(chan []byte)
	ended := make(chan error, 2)
	go func() {
		for {
			line, err := readLine(in, maxLine)
			if errors.Is(err, io.EOF) {
				err = nil
			}
			if line == nil {
				ended <- err
				return
			}
			lines <- line
		}
	}()
	go func() { ended <- answerAll(lines, bufio.NewWriterSize(os.Stdout, 1<<16)) }()
	return <-ended
}

// maxLine is the length in bytes of the longest line between the two processes.
const maxLine = 32 << 20

// readLine returns the next line without its end.
func readLine(r *bufio.Reader, limit int) (line []byte, err error) {
	for line = []byte{}; ; {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case len(line) > limit:
			return nil, fmt.Errorf("a line of more than %d bytes", limit)
		}
	}
}

func answerAll(lines <-chan []byte, out *bufio.Writer) error {
	var o Options
	if err := json.Unmarshal(<-lines, &o); err != nil {
		return err
	}
	if err := confine(o); err != nil {
		return err
	}
	e, err := openEngine(o)
	if err != nil {
		return say(out, failure(err))
	}
	if err := say(out, reply{Views: e.views}); err != nil {
		return err
	}
	for line := range lines {
		var q question
		if err := json.Unmarshal(line, &q); err != nil {
			return err
		}
		if err := e.answer(q, out); err != nil {
			return err
		}
	}
	return nil
}

// say writes a reply.
func say(out *bufio.Writer, r reply) error {
	return errors.Join(json.NewEncoder(out).Encode(r), out.Flush())
}

// threadBytes is what a thread reserves beside what the question takes: its stack and an arena.
const threadBytes = 16 << 20

// confine sets limits that this process cannot raise: on its memory, and that it writes no file.
// What the operating system does not know it does not enforce.
func confine(o Options) error {
	threads := o.Threads
	if threads <= 0 {
		threads = runtime.NumCPU()
	}
	data := uint64(o.ceiling() + int64(threads+runtime.NumCPU()+16)*threadBytes)
	for resource, limit := range map[int]uint64{unix.RLIMIT_DATA: data, unix.RLIMIT_FSIZE: 0, unix.RLIMIT_CORE: 0} {
		var now unix.Rlimit
		if err := unix.Getrlimit(resource, &now); err != nil {
			return fmt.Errorf("confine the SQL engine: %w", err)
		}
		limit = min(limit, now.Max)
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return fmt.Errorf("confine the SQL engine: %w", err)
		}
	}
	return nil
}

// answer answers one question. Its error is that of the pipe.
func (e *engine) answer(q question, out *bufio.Writer) error {
	c, err := e.connect()
	if err != nil {
		return say(out, failure(err))
	}
	defer c.close()
	s, err := c.ask(q.SQL)
	if err != nil {
		return say(out, failure(err))
	}
	defer s.close()
	head := reply{Answer: flight.SerializeSchema(s.schema(), memory.DefaultAllocator), Plan: s.plan}
	if q.Shape {
		head.Parameters = flight.SerializeSchema(s.parameters(), memory.DefaultAllocator)
		return say(out, head)
	}
	var values []any
	for _, v := range q.Values {
		values = append(values, v.value())
	}
	r, err := s.run(values)
	if err != nil {
		return say(out, failure(err))
	}
	defer r.close()
	if err := say(out, head); err != nil {
		return err
	}
	w := ipc.NewWriter(out, ipc.WithSchema(r.schema))
	err = r.stream(w, out)
	if pipe := w.Close(); pipe != nil {
		return pipe
	}
	if err != nil {
		return say(out, failure(err))
	}
	return say(out, reply{})
}

// stream writes all batches of an answer.
func (r *cursor) stream(w *ipc.Writer, out *bufio.Writer) error {
	for {
		rec, err := r.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		err = send(w, rec)
		rec.Release()
		if err = errors.Join(err, out.Flush()); err != nil {
			return err
		}
	}
}

// maxRow is the size in bytes of the largest row of an answer.
const maxRow = 64 << 20

// send writes a batch, in parts where it is large.
func send(w *ipc.Writer, rec arrow.Record) error {
	length, rows := bytesOf(rec), rec.NumRows()
	switch {
	case length <= 4*batchBytes || rows == 1 && length <= maxRow:
		return w.Write(rec)
	case rows == 1:
		return &blame{fmt.Sprintf("a row of the answer has %s: at most %s are passed on", size(length),
			size(maxRow)), ErrLimit}
	}
	for _, part := range []arrow.Record{rec.NewSlice(0, rows/2), rec.NewSlice(rows/2, rows)} {
		err := send(w, part)
		part.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// bytesOf returns about how many bytes the values of a batch have.
func bytesOf(rec arrow.Record) int64 {
	size := rec.NumCols() * rec.NumRows() * 8
	for _, c := range rec.Columns() {
		if s, ok := c.(*array.String); ok {
			size += int64(len(s.ValueBytes()))
		}
	}
	return size
}
