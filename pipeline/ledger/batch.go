package ledger

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/shatterlab/shatter/pipeline/dataset"
	"github.com/shatterlab/shatter/schemas"
)

// The status of a trial.
const (
	OK     uint8 = iota // has an error
	Failed              // the algorithm's own doing; counts as no success
	Lost                // the machine's doing; no outcome
)

// StatusName returns the name of a status: ok, failed or lost.
func StatusName(status uint8) string {
	return [...]string{OK: "ok", Failed: "failed", Lost: "lost"}[status]
}

// Batch is one message of a worker: the outcomes of repetitions of one cell at one sample size, a
// row each, or the refusal of that size.
type Batch struct {
	Sweep   string
	Cell    [32]byte
	N       int64  // sample size, at least 1
	Digest  string // identity of the plugin or built-in algorithm that made it: a SHA-256 in hex
	Profile string // float profile

	// Worker and the two times reach no result file except timing.parquet. They are wall-clock times in
	// seconds, finite and not negative.
	Worker        string
	Seconds       float64 // work of a slot on the rows
	PluginSeconds float64 // part of Seconds that was spent in calls into the plugin

	Notes []string // what happened on the way, for the manifest: each one line

	Refusal *Refusal // why there are no rows; nil: there are

	Repetition []int64   // at least one; ascending, in [0, 2^31)
	Status     []uint8   // OK, Failed or Lost
	Error      []float64 // finite where OK, else NaN

	Metrics []string    // ascending; not empty
	Values  [][]float64 // of each metric, of each row: finite, or NaN where it was not reported

	Kind   []string // what went wrong (crash, error, panic, answer, time, memory, ...); "" where OK. Nil: "" everywhere
	Reason []string // the same for people; may differ from run to run. Nil: "" everywhere
}

// KindOf returns what went wrong in a row, "" where nothing is said.
func (b *Batch) KindOf(row int) string { return textAt(b.Kind, row) }

// ReasonOf returns what went wrong in a row, for people, "" where nothing is said.
func (b *Batch) ReasonOf(row int) string { return textAt(b.Reason, row) }

// textAt returns the value of a column in a row, "" where the message lacks the column.
func textAt(column []string, row int) string {
	if column == nil {
		return ""
	}
	return column[row]
}

// Columns and metadata of a message.
const (
	colRepetition = "repetition"
	colStatus     = "status"
	colError      = "error"
	colKind       = "kind" // kind and reason are left out where all are empty
	colReason     = "reason"

	metaVersion = "shatter.outcome"
	metaSweep   = "sweep"
	metaCell    = "cell"
	metaN       = "n"
	metaDigest  = "digest"
	metaProfile = "profile"
	metaWorker  = "worker"
	metaSeconds = "seconds"
	metaPlugin  = "plugin_seconds"
	metaNotes   = "notes"
)

// MaxRepetition is the largest number of a repetition: it fits the counter of a trial's seed, and
// keeps a corrupt message from making a large index.
const MaxRepetition = math.MaxInt32

// Encode returns the message, an Arrow IPC file. It refuses a batch that breaks a rule of its
// fields, and replaces invalid UTF-8 in Kind and Reason.
func (b *Batch) Encode() ([]byte, error) {
	if err := b.check(); err != nil {
		return nil, fmt.Errorf("encode result: %w", err)
	}
	schema := dataset.Schema{
		Metadata: []dataset.KeyValue{
			{Key: metaVersion, Value: schemas.OutcomeVersion},
			{Key: metaSweep, Value: b.Sweep},
			{Key: metaCell, Value: hex.EncodeToString(b.Cell[:])},
			{Key: metaN, Value: strconv.FormatInt(b.N, 10)},
			{Key: metaDigest, Value: b.Digest},
			{Key: metaProfile, Value: b.Profile},
			{Key: metaWorker, Value: b.Worker},
			{Key: metaSeconds, Value: strconv.FormatFloat(b.Seconds, 'g', -1, 64)},
			{Key: metaPlugin, Value: strconv.FormatFloat(b.PluginSeconds, 'g', -1, 64)},
			{Key: metaNotes, Value: strings.Join(b.Notes, "\n")},
		},
		Columns: []dataset.Column{
			{Name: colRepetition, Type: dataset.Int64},
			{Name: colStatus, Type: dataset.Uint8},
			{Name: colError, Type: dataset.Float64},
		},
	}
	if b.Refusal != nil {
		b.Refusal.addTo(&schema)
		return b.fill(schema, nil)
	}
	for _, name := range b.Metrics {
		schema.Columns = append(schema.Columns, dataset.Column{Name: schemas.MetricPrefix + name, Type: dataset.Float64})
	}
	var texts [][]string
	for _, c := range []struct {
		name string
		text []string
	}{{colKind, b.Kind}, {colReason, b.Reason}} {
		if anyText(c.text) {
			schema.Columns = append(schema.Columns, dataset.Column{Name: c.name, Type: dataset.Utf8})
			texts = append(texts, validText(c.text))
		}
	}
	return b.fill(schema, texts)
}

// fill returns the message of a schema whose last columns are the texts.
func (b *Batch) fill(schema dataset.Schema, texts [][]string) ([]byte, error) {
	lengths := make([]int, len(texts))
	for i, column := range texts {
		for _, s := range column {
			lengths[i] += len(s)
		}
	}
	l, err := dataset.Plan(schema, len(b.Repetition), lengths)
	if err != nil {
		return nil, fmt.Errorf("encode result: %w", err)
	}
	msg := make([]byte, l.Size())
	l.Init(msg)
	if b.Refusal != nil {
		return msg, nil
	}
	copy(l.Int64(msg, 0), b.Repetition)
	copy(l.Uint8(msg, 1), b.Status)
	copy(l.Float64(msg, 2), b.Error)
	for i, v := range b.Values {
		copy(l.Float64(msg, 3+i), v)
	}
	for i, column := range texts {
		offsets, dst := l.Utf8(msg, 3+len(b.Values)+i)
		at := 0
		for j, s := range column {
			at += copy(dst[at:], s)
			offsets[j+1] = int32(at)
		}
	}
	return msg, nil
}

func anyText(s []string) bool {
	return slices.ContainsFunc(s, func(s string) bool { return s != "" })
}

func validText(s []string) []string {
	out := make([]string, len(s))
	for i, v := range s {
		out[i] = strings.ToValidUTF8(v, "\uFFFD")
	}
	return out
}

// Decode returns the batch of a message. Its numbers are views into msg, which must not change
// while the batch is in use. Any bytes are safe: what breaks a rule of Batch's fields is refused.
func Decode(msg []byte) (*Batch, error) {
	t, err := dataset.Decode(dataset.Align(msg))
	if err != nil {
		return nil, fmt.Errorf("decode result: %w", err)
	}
	b := &Batch{}
	if err := b.readMetadata(t.Schema()); err != nil {
		return nil, fmt.Errorf("decode result: %w", err)
	}
	if b.Refusal == nil {
		if err := b.readColumns(t); err != nil {
			return nil, fmt.Errorf("decode result: %w", err)
		}
	}
	if err := b.check(); err != nil {
		return nil, fmt.Errorf("decode result: %w", err)
	}
	return b, nil
}

func (b *Batch) readMetadata(s dataset.Schema) error {
	switch v, _ := s.Get(metaVersion); v {
	case schemas.OutcomeVersion:
	case schemas.RefusalVersion:
		b.Refusal = readRefusal(s)
	default:
		return fmt.Errorf("%w: use workers and coordinator of the same release",
			&schemas.VersionError{What: "it", Found: v, Want: schemas.OutcomeVersion})
	}
	for key, to := range map[string]*string{
		metaSweep: &b.Sweep, metaDigest: &b.Digest, metaProfile: &b.Profile, metaWorker: &b.Worker,
	} {
		*to, _ = s.Get(key)
	}
	cell, _ := s.Get(metaCell)
	if n, err := hex.Decode(b.Cell[:], []byte(cell[:min(len(cell), 64)])); n != 32 || err != nil || len(cell) != 64 {
		return fmt.Errorf("cell %.80q is not 64 hex digits", cell)
	}
	var err error
	n, _ := s.Get(metaN)
	if b.N, err = strconv.ParseInt(n, 10, 64); err != nil {
		return fmt.Errorf("n: %w", err)
	}
	for key, to := range map[string]*float64{metaSeconds: &b.Seconds, metaPlugin: &b.PluginSeconds} {
		text, _ := s.Get(key)
		if *to, err = strconv.ParseFloat(text, 64); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	if notes, _ := s.Get(metaNotes); notes != "" {
		b.Notes = strings.Split(notes, "\n")
	}
	return nil
}

func (b *Batch) readColumns(t *dataset.Table) error {
	var errs [3]error
	b.Repetition, errs[0] = t.Int64(colRepetition)
	b.Status, errs[1] = t.Uint8(colStatus)
	b.Error, errs[2] = t.Float64(colError)
	for _, c := range t.Schema().Columns {
		if name, ok := strings.CutPrefix(c.Name, schemas.MetricPrefix); ok {
			v, err := t.Float64(c.Name)
			if err != nil {
				return err
			}
			b.Metrics, b.Values = append(b.Metrics, name), append(b.Values, v)
			continue
		}
		switch c.Name {
		case colRepetition, colStatus, colError:
		case colKind, colReason:
			s, err := t.Utf8(c.Name)
			if err != nil {
				return err
			}
			text := make([]string, s.Len())
			for i := range text {
				text[i] = s.At(i)
			}
			if c.Name == colKind {
				b.Kind = text
			} else {
				b.Reason = text
			}
		default:
			return fmt.Errorf("unknown column %.80q", c.Name)
		}
	}
	return errors.Join(errs[:]...)
}

// check reports an error where the batch breaks a rule that a field's comment states.
func (b *Batch) check() error {
	rows := len(b.Repetition)
	switch {
	case b.Refusal == nil && rows == 0:
		return errors.New("it has no rows")
	case len(b.Status) != rows || len(b.Error) != rows:
		return fmt.Errorf("%d repetitions, %d statuses, %d errors", rows, len(b.Status), len(b.Error))
	case b.Kind != nil && len(b.Kind) != rows || b.Reason != nil && len(b.Reason) != rows:
		return fmt.Errorf("%d repetitions, %d kinds, %d reasons", rows, len(b.Kind), len(b.Reason))
	case len(b.Metrics) != len(b.Values):
		return fmt.Errorf("%d names and %d columns of metrics", len(b.Metrics), len(b.Values))
	case b.N < 1:
		return fmt.Errorf("n is %d: must be at least 1", b.N)
	case !(b.Seconds >= 0 && b.Seconds <= math.MaxFloat64):
		return fmt.Errorf("seconds is %v: must be 0 or more", b.Seconds)
	case !(b.PluginSeconds >= 0 && b.PluginSeconds <= b.Seconds):
		return fmt.Errorf("plugin_seconds is %v: must be 0 to seconds, %v", b.PluginSeconds, b.Seconds)
	case b.Refusal != nil:
		return b.checkRefusal()
	}
	if err := b.checkRows(); err != nil {
		return err
	}
	return b.checkMetrics()
}

func (b *Batch) checkRows() error {
	last := int64(-1)
	for i, rep := range b.Repetition {
		if rep <= last || rep > MaxRepetition {
			return fmt.Errorf("row %d: repetition %d after %d: must rise, from 0 to %d", i, rep, last, MaxRepetition)
		}
		last = rep
		e := b.Error[i]
		if b.Status[i] == OK && e-e != 0 { // NaN or infinite
			return fmt.Errorf("row %d: status is ok and error %v: must be finite", i, e)
		}
		if b.Status[i] != OK && e == e || b.Status[i] > Lost {
			return fmt.Errorf("row %d: status %d and error %v: must be at most %d, and NaN where not ok",
				i, b.Status[i], e, Lost)
		}
	}
	for i, kind := range b.Kind {
		if kind != "" && b.Status[i] == OK {
			return fmt.Errorf("row %d: status is ok and kind %.80q", i, kind)
		}
	}
	return nil
}

func (b *Batch) checkMetrics() error {
	for i, name := range b.Metrics {
		if name == "" || i > 0 && name <= b.Metrics[i-1] {
			return fmt.Errorf("metric %.80q: names must not be empty, and ascend", name)
		}
		if len(b.Values[i]) != len(b.Repetition) {
			return fmt.Errorf("metric %.80q: %d values for %d rows", name, len(b.Values[i]), len(b.Repetition))
		}
		for row, v := range b.Values[i] {
			if math.IsInf(v, 0) {
				return fmt.Errorf("metric %.80q, row %d: %v", name, row, v)
			}
		}
	}
	return nil
}

// Select returns a batch of the given rows, each at most once, in their order. Where these are all
// rows as they stand, it shares the columns of b.
func (b *Batch) Select(rows []int) *Batch {
	c := *b
	if len(rows) == len(b.Repetition) && slices.IsSorted(rows) {
		return &c
	}
	c.Repetition, c.Status, c.Error = pick(b.Repetition, rows), pick(b.Status, rows), pick(b.Error, rows)
	c.Kind, c.Reason = pick(b.Kind, rows), pick(b.Reason, rows)
	c.Values = make([][]float64, len(b.Values))
	for i, v := range b.Values {
		c.Values[i] = pick(v, rows)
	}
	return &c
}

// pick returns the elements of v at rows, or nil where v is nil.
func pick[T any](v []T, rows []int) []T {
	if v == nil {
		return nil
	}
	out := make([]T, len(rows))
	for i, row := range rows {
		out[i] = v[row]
	}
	return out
}
