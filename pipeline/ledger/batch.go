package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// The status of a trial.
const (
	OK     uint8 = iota // the trial has a measured error
	Failed              // failure of the algorithm; counts as no success
	Lost                // failure of the machine; no outcome
)

// StatusName returns the name of a status: ok, failed or lost.
func StatusName(status uint8) string {
	return [...]string{OK: "ok", Failed: "failed", Lost: "lost"}[status]
}

// Batch is one message of a worker: the outcomes of repetitions of one cell at one sample size,
// one per row, or the refusal of that size.
type Batch struct {
	Sweep   string
	Cell    [32]byte
	N       int64  // sample size, at least 1
	Digest  string // identity of the plugin or built-in algorithm that produced it: see schemas.Environment.Identify
	Profile string // float profile

	// Of the result files, only timing.parquet contains Worker and the two times. They are
	// wall-clock times in seconds, finite and not negative.
	Worker        string
	Seconds       float64 // time of a slot for the rows
	PluginSeconds float64 // part of Seconds spent in calls into the plugin

	Environment schemas.Environment // the environment in Digest, in the first message of a plugin process about a sweep

	Notes []string // events during the trials, for the manifest: one line each

	Warnings int64  // number of the plugin's warnings during the job, in its first message
	Warning  string // text of the first one

	Refusal *Refusal // reason for having no rows; nil: there are rows

	Repetition []int64   // at least one; ascending, from 0 to trial.MaxRepetition
	Status     []uint8   // OK, Failed or Lost
	Error      []float64 // finite if OK, else NaN

	Metrics []string    // ascending; not empty
	Values  [][]float64 // value of each metric in each row: finite, or NaN if it was not reported

	Kind   []string // kind of failure (crash, error, panic, answer, time, memory, ...); "" if OK. Nil: "" everywhere
	Reason []string // description of the failure; may differ between runs. Nil: "" everywhere
}

// KindOf returns the kind of failure in a row, or "" if there is none.
func (b *Batch) KindOf(row int) string { return textAt(b.Kind, row) }

// ReasonOf returns the description of the failure in a row, or "" if there is none.
func (b *Batch) ReasonOf(row int) string { return textAt(b.Reason, row) }

// textAt returns the value of a column in a row, or "" if the message lacks the column.
func textAt(column []string, row int) string {
	if column == nil {
		return ""
	}
	return column[row]
}

// Encode returns the message, a [pluginv1.Outcomes]. It rejects a batch that violates a rule of
// its fields, and replaces invalid UTF-8 in Kind and Reason.
func (b *Batch) Encode() ([]byte, error) {
	if err := b.check(); err != nil {
		return nil, fmt.Errorf("encode result: %w", err)
	}
	m := &pluginv1.Outcomes{
		Version: schemas.OutcomeVersion, Sweep: b.Sweep, Cell: b.Cell[:], N: b.N, Digest: b.Digest, Profile: b.Profile,
		Worker: b.Worker, Seconds: b.Seconds, PluginSeconds: b.PluginSeconds, Notes: b.Notes,
		Warnings: b.Warnings, Warning: b.Warning,
		Repetition: b.Repetition, Status: b.Status, Error: b.Error, Kind: validText(b.Kind), Reason: validText(b.Reason),
	}
	if r := b.Refusal; r != nil {
		m.Refusal = &pluginv1.Outcomes_Refusal{Kind: r.Kind, Message: r.Message}
	}
	for i, name := range b.Metrics {
		m.Metrics = append(m.Metrics, &pluginv1.Outcomes_Metric{Name: name, Values: b.Values[i]})
	}
	if len(b.Environment) > 0 {
		m.Environment, _ = json.Marshal(b.Environment) // of strings alone: never fails
	}
	msg, err := proto.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode result: %w", err)
	}
	return msg, nil
}

// validText returns a column in valid UTF-8; nil if all its texts are empty.
func validText(s []string) []string {
	if !slices.ContainsFunc(s, func(s string) bool { return s != "" }) {
		return nil
	}
	out := make([]string, len(s))
	for i, v := range s {
		out[i] = strings.ToValidUTF8(v, "\uFFFD")
	}
	return out
}

// Decode returns the batch of a message. It is safe for any bytes: a batch that violates a rule
// of Batch's fields is rejected.
func Decode(msg []byte) (*Batch, error) {
	b, err := decode(msg)
	if err == nil {
		err = b.check()
	}
	if err != nil {
		return nil, fmt.Errorf("decode result: %w", err)
	}
	return b, nil
}

func decode(msg []byte) (*Batch, error) {
	m := new(pluginv1.Outcomes)
	if err := proto.Unmarshal(msg, m); err != nil {
		return nil, err
	}
	if m.Version != schemas.OutcomeVersion {
		return nil, fmt.Errorf("%w: use workers and coordinator of the same release",
			&schemas.VersionError{What: "it", Found: m.Version, Want: schemas.OutcomeVersion})
	}
	b := &Batch{
		Sweep: m.Sweep, N: m.N, Digest: m.Digest, Profile: m.Profile,
		Worker: m.Worker, Seconds: m.Seconds, PluginSeconds: m.PluginSeconds, Notes: m.Notes,
		Warnings: m.Warnings, Warning: m.Warning,
		Repetition: m.Repetition, Status: m.Status, Error: m.Error, Kind: m.Kind, Reason: m.Reason,
	}
	if len(m.Cell) != len(b.Cell) {
		return nil, fmt.Errorf("cell of %d bytes, not %d", len(m.Cell), len(b.Cell))
	}
	copy(b.Cell[:], m.Cell)
	if r := m.Refusal; r != nil {
		b.Refusal = &Refusal{r.Kind, r.Message}
	}
	if len(m.Environment) > 0 {
		if err := json.Unmarshal(m.Environment, &b.Environment); err != nil {
			return nil, fmt.Errorf("environment: %w", err)
		}
	}
	for _, metric := range m.Metrics {
		b.Metrics, b.Values = append(b.Metrics, metric.Name), append(b.Values, metric.Values)
	}
	return b, nil
}

// check returns an error if the batch violates a rule in a field's comment.
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
		if rep <= last || rep > trial.MaxRepetition {
			return fmt.Errorf("row %d: repetition %d after %d: must rise, from 0 to %d", i, rep, last, trial.MaxRepetition)
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

// Select returns a batch of the given rows, each at most once, in their order. If these are all
// rows in the order of b, it shares the columns of b.
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

// pick returns the elements of v at rows, or nil if v is nil.
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
