// Package record holds the form in which one trial of an algorithm is kept in a file: all that its
// plugin was told and all that it answered, so that a unit test can run the trial again.
//
// The file is an Arrow IPC file with one uncompressed record batch, which every Arrow library reads.
// A row is a point that the plugin was shown:
//
//	request  int64    the request that showed it: 0 is the one that opened the session
//	kind     utf8     "sample", "revealed" (a query of an offline adversary), "query", "round" or "point"
//	x        float64  the point, a fixed-size list
//	y        float64  the label in the sample, or the truth of a round; NaN: the plugin was told none
//	answer   float64  what the plugin answered; NaN: nothing, because it was not asked or had failed
//	hard     uint8    1: the plugin marked the query as hard
//
// The schema's metadata has these keys, and more for people:
//
//	shatter.record  the version of this form, "1"
//	setting         the public setting, the message Setting of plugin.proto as JSON
//	seeds           the state of the trial's random numbers: two decimal numbers, high half first
//	metrics         what the plugin reported, a JSON object of numbers
//	fault           why the trial failed: a kind (error, panic, ...), a colon and a message; "": it did not
//
// Start at [Read] and [Record.WriteFile].
package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/shatterlab/shatter/pipeline/dataset"
	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// The kinds of rows.
const (
	Sample   = "sample"
	Revealed = "revealed"
	Query    = "query"
	Round    = "round"
	Point    = "point"
)

const (
	versionKey = "shatter.record"
	version    = "1"
)

// A Record is one trial, as its plugin saw it. Rows has one entry for each row, and X has Dim numbers
// for each.
type Record struct {
	Setting *pluginv1.Setting
	Seeds   [2]uint64
	Metrics map[string]float64
	Fault   string
	Dim     int

	Rows []Row
	X    []float64

	More []dataset.KeyValue // further metadata, for people; Read leaves it empty
}

// A Row is one row of a record without its point.
type Row struct {
	Request   int64
	Kind      string
	Y, Answer float64 // NaN: none
	Hard      bool
}

// Append appends rows that have no answers. y has one label for each, or is nil.
func (r *Record) Append(request int64, kind string, x, y []float64) {
	for i := range len(x) / r.Dim {
		row := Row{Request: request, Kind: kind, Y: math.NaN(), Answer: math.NaN()}
		if y != nil {
			row.Y = y[i]
		}
		r.Rows = append(r.Rows, row)
	}
	r.X = append(r.X, x...)
}

// PointOf returns the point of row i.
func (r *Record) PointOf(i int) []float64 { return r.X[i*r.Dim : (i+1)*r.Dim] }

// WriteFile writes the record to a file that nobody else may read, as it holds data, or replaces one.
func (r *Record) WriteFile(path string) error {
	b, err := r.encode()
	if err != nil {
		return fmt.Errorf("write the record of a trial: %w", err)
	}
	switch info, err := os.Lstat(path); {
	case err == nil && !info.Mode().IsRegular():
		return fmt.Errorf("write the record of a trial: %s is there, and is no regular file: name another file", path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("write the record of a trial: %w", err)
	}
	return disk.WriteSecret(path, disk.Bytes(b))
}

func (r *Record) encode() ([]byte, error) {
	schema, err := r.schema()
	if err != nil {
		return nil, err
	}
	text := 0
	for _, row := range r.Rows {
		text += len(row.Kind)
	}
	l, err := dataset.Plan(schema, len(r.Rows), []int{text})
	if err != nil {
		return nil, err
	}
	b := dataset.Align(make([]byte, l.Size()))
	l.Init(b)
	copy(l.List(b, 2), r.X)
	requests, ys, answers, hard := l.Int64(b, 0), l.Float64(b, 3), l.Float64(b, 4), l.Uint8(b, 5)
	offsets, texts := l.Utf8(b, 1)
	for i, row := range r.Rows {
		requests[i], ys[i], answers[i] = row.Request, row.Y, row.Answer
		if row.Hard {
			hard[i] = 1
		}
		offsets[i+1] = offsets[i] + int32(copy(texts[offsets[i]:], row.Kind))
	}
	return b, nil
}

func (r *Record) schema() (s dataset.Schema, err error) {
	setting, err := protojson.Marshal(r.Setting)
	if err != nil {
		return s, err
	}
	var compact bytes.Buffer // protojson varies its spaces on purpose
	if err := json.Compact(&compact, setting); err != nil {
		return s, err
	}
	metrics, err := json.Marshal(r.Metrics)
	if err != nil {
		return s, err
	}
	s.Columns = []dataset.Column{
		{Name: "request", Type: dataset.Int64}, {Name: "kind", Type: dataset.Utf8},
		{Name: "x", Type: dataset.List, Width: r.Dim}, {Name: "y", Type: dataset.Float64},
		{Name: "answer", Type: dataset.Float64}, {Name: "hard", Type: dataset.Uint8},
	}
	s.Metadata = slices.Concat([]dataset.KeyValue{
		{Key: versionKey, Value: version}, {Key: "setting", Value: compact.String()},
		{Key: "seeds", Value: fmt.Sprint(r.Seeds[0], r.Seeds[1])}, {Key: "metrics", Value: string(metrics)},
		{Key: "fault", Value: strings.ToValidUTF8(r.Fault, "?")},
	}, r.More)
	return s, nil
}

// Read reads the record in a file.
func Read(path string) (*Record, error) {
	const most = 1 << 30
	b, err := disk.ReadFile(path, most)
	if err != nil {
		return nil, err
	}
	r, err := decode(dataset.Align(b))
	if err != nil {
		return nil, fmt.Errorf("%s is no record of a trial: %w; make one with: shatter trial DIR ID --export FILE", path, err)
	}
	return r, nil
}

func decode(b []byte) (*Record, error) {
	t, err := dataset.Decode(b)
	if err != nil {
		return nil, err
	}
	r := &Record{Setting: &pluginv1.Setting{}}
	if err := r.readMetadata(t.Schema()); err != nil {
		return nil, err
	}
	requests, err := t.Int64("request")
	if err != nil {
		return nil, err
	}
	kinds, err := t.Utf8("kind")
	if err != nil {
		return nil, err
	}
	if r.X, r.Dim, err = t.List("x"); err != nil {
		return nil, err
	}
	ys, err := t.Float64("y")
	if err != nil {
		return nil, err
	}
	answers, err := t.Float64("answer")
	if err != nil {
		return nil, err
	}
	hard, err := t.Uint8("hard")
	if err != nil {
		return nil, err
	}
	for i, request := range requests {
		r.Rows = append(r.Rows, Row{request, kinds.At(i), ys[i], answers[i], hard[i] != 0})
	}
	return r, nil
}

func (r *Record) readMetadata(s dataset.Schema) error {
	if v, _ := s.Get(versionKey); v != version {
		return fmt.Errorf("its schema says %s = %q, and %q is needed", versionKey, v, version)
	}
	setting, _ := s.Get("setting")
	if err := protojson.Unmarshal([]byte(setting), r.Setting); err != nil {
		return fmt.Errorf("setting: %w", err)
	}
	seeds, _ := s.Get("seeds")
	if _, err := fmt.Sscan(seeds, &r.Seeds[0], &r.Seeds[1]); err != nil {
		return fmt.Errorf("seeds %q: %w", seeds, err)
	}
	metrics, _ := s.Get("metrics")
	if err := json.Unmarshal([]byte(metrics), &r.Metrics); err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	r.Fault, _ = s.Get("fault")
	return nil
}
