package plan

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"

	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas"
)

// A sampling holds the sample sizes and trials of cells: a list, or a search.
type sampling struct {
	N      []int64     `json:"n,omitempty"`
	Trials int         `json:"trials,omitempty"`
	Find   *trial.Find `json:"search,omitempty"`
	Max    int64       `json:"max,omitempty"`
	Over   *axisSearch `json:"over,omitempty"`
}

// An axisSearch configures the search over another number than n, at size N.
type axisSearch struct {
	Axis       string  `json:"axis"`
	Success    string  `json:"success"`
	Within     int64   `json:"within"`
	Confidence float64 `json:"confidence"`
	Monotone   bool    `json:"monotone,omitempty"`
}

func samplingOf(c *trial.Cell) sampling {
	m := sampling{N: c.N, Trials: c.Trials, Find: c.Find, Max: c.MaxTrials}
	if l := c.Rung; l != nil {
		m.Over = &axisSearch{l.Axis, l.Direction(), l.Within, l.Confidence, l.Monotone}
	}
	return m
}

func (m sampling) String() string {
	if m.Over != nil {
		text := fmt.Sprintf("search %s at n %v, with which success %s, within %d, confidence %v, at most %d trials",
			m.Over.Axis, m.N, m.Over.Success, m.Over.Within, m.Over.Confidence, m.Max)
		if m.Over.Monotone {
			text += ", monotone"
		}
		return text
	}
	if m.Find == nil {
		return fmt.Sprintf("n %v with %d trials each", m.N, m.Trials)
	}
	text := fmt.Sprintf("search n from %d to %d, within %v, confidence %v, at most %d trials",
		m.Find.From, m.Find.To, m.Find.Within, m.Find.Confidence, m.Max)
	if m.Find.Step > 0 {
		text += fmt.Sprintf(", multiples of %d", m.Find.Step)
	}
	if m.Find.Monotone {
		text += ", monotone"
	}
	return text
}

// Resolved returns the resolved sweep as canonical JSON. It contains exactly the parts of a sweep file that outcomes
// depend on. So it omits limits, paths of plugins and data, and fits, which are computed from finished cells.
func (p *Plan) Resolved() ([]byte, error) {
	var b bytes.Buffer
	err := p.WriteResolved(&b)
	return b.Bytes(), err
}

// Digest returns the SHA-256 of what WriteResolved writes, in hex.
func (p *Plan) Digest() (string, error) {
	h := sha256.New()
	if err := p.WriteResolved(h); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// WriteResolved writes the result of [Plan.Resolved], which is long for many cells.
func (p *Plan) WriteResolved(to io.Writer) error {
	w := bufio.NewWriter(to)
	if err := writeResolved(w, p); err != nil {
		return fmt.Errorf("write the resolved sweep: %w", err)
	}
	return w.Flush()
}

func writeResolved(w *bufio.Writer, p *Plan) error {
	problems, measures := map[string]any{}, map[string]int{}
	var list []any
	var members trial.Object
	measured := 0               // index of the present cell's sampling
	w.WriteString(`{"cells":[`) // the first key in canonical order, and by far the largest value
	var b []byte
	for i, c := range p.Cells {
		id := c.DataKey.Short()
		if c.Problem.Test > 0 { // the data key does not include it
			id += "/" + strconv.Itoa(c.Problem.Test)
		}
		if problems[id] == nil {
			problems[id] = c.Problem
		}
		if i == 0 || !measuredAlike(c, p.Cells[i-1]) {
			m := samplingOf(c)
			how := m.String()
			if _, ok := measures[how]; !ok {
				measures[how], list = len(list), append(list, m)
			}
			measured = measures[how]
		}
		if i > 0 {
			w.WriteByte(',')
		}
		members = appendCell(members[:0], c, id, measured)
		var err error
		if b, err = trial.AppendCanonical(b[:0], members); err != nil {
			return err
		}
		w.Write(b)
	}
	rest, err := trial.Canonical(map[string]any{
		"format": trial.Format, "name": p.Name, "task": p.Cells[0].Task, "seed": p.Seed.Seed,
		"problems": problems, "measures": list,
	})
	if err != nil {
		return err
	}
	w.WriteString("],")
	w.Write(rest[1:])
	return nil // Flush returns the first error of w
}

// appendCell appends the fields of a cell of a resolved sweep, given the name of its problem and the index of its
// sampling.
func appendCell(o trial.Object, c *trial.Cell, problem string, measure int) trial.Object {
	o = c.AppendFields(o, c.Params).With("reference", c.Reference)
	if c.Evaluation.Looks != nil {
		o = o.With("evaluation", schemas.EvaluationSequential)
	}
	return o.With("key", c.Key).With("problem", problem).With("as", c.As).With("measure", measure)
}
