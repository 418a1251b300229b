package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shatterlab/shatter/pipeline/dataset"
	"github.com/shatterlab/shatter/schemas"
)

// Refusal says that the algorithm of a cell takes no samples of a size. It stands in a Batch instead
// of rows.
type Refusal struct {
	Kind    string // Infeasible or Invalid
	Message string // the algorithm's reason, at most 4 KiB: it is part of the result, so it has to be the same everywhere
}

// The kinds of refusals.
const (
	Infeasible = "infeasible" // not with this sample size and budget
	Invalid    = "invalid"    // the setting makes no sense to the algorithm, or its answer none to us
)

const longestMessage = 4 << 10

// NewRefusal returns a refusal whose message is valid UTF-8 and is cut where it is too long.
func NewRefusal(kind, message string) *Refusal {
	message = message[:min(len(message), longestMessage)]
	return &Refusal{kind, strings.ToValidUTF8(message, "")}
}

// String returns "KIND: MESSAGE".
func (r Refusal) String() string { return r.Kind + ": " + r.Message }

// Refused is a sample size of a cell that the ledger knows to be refused.
type Refused struct {
	N int64
	Refusal
	Digest, Profile string // of the plugin file and the machine that refused it
	Worker          string // that sent it
}

// Clash says that a sample size has a refusal and outcomes, or two different refusals. What came
// first counts.
type Clash struct {
	Cell          [32]byte
	N             int64
	First, Second string // "outcomes", or a refusal in words
	Worker        string // that sent the second
	Digest        string // of the plugin file that made the second
}

// outcomesInWords stands for outcomes in a Clash.
const outcomesInWords = "outcomes"

// identity returns what makes two clashes the same.
func (c Clash) identity() Clash {
	c.Worker, c.Digest = "", ""
	return c
}

// Metadata of a message with a refusal, beside those of one with outcomes.
const (
	metaKind    = "kind"
	metaMessage = "message"
)

// addTo makes a schema of outcomes that of a message with a refusal.
func (r *Refusal) addTo(s *dataset.Schema) {
	s.Metadata[0].Value = schemas.RefusalVersion
	s.Metadata = append(s.Metadata,
		dataset.KeyValue{Key: metaKind, Value: r.Kind}, dataset.KeyValue{Key: metaMessage, Value: r.Message})
	s.Columns = s.Columns[:1] // a message has columns
}

func readRefusal(s dataset.Schema) *Refusal {
	r := &Refusal{}
	r.Kind, _ = s.Get(metaKind)
	r.Message, _ = s.Get(metaMessage)
	return r
}

// checkRefusal reports an error where a batch with a refusal breaks a rule.
func (b *Batch) checkRefusal() error {
	switch r := b.Refusal; {
	case len(b.Repetition)+len(b.Status)+len(b.Error)+len(b.Metrics)+len(b.Values)+len(b.Kind)+len(b.Reason) > 0:
		return errors.New("it has a refusal and rows")
	case r.Kind != Infeasible && r.Kind != Invalid:
		return fmt.Errorf("refusal of the kind %.80q: must be %s or %s", r.Kind, Infeasible, Invalid)
	case len(r.Message) > longestMessage:
		return fmt.Errorf("refusal of %d bytes: at most %d are allowed", len(r.Message), longestMessage)
	}
	return nil
}

// refusals holds the refused sample sizes of each cell.
type refusals map[[32]byte]map[int64]Refused

// judge compares a batch with what is known and changes nothing. hashes are those of hashRows.
func (l *Ledger) judge(b *Batch, hashes []uint64) Verdict {
	known, refused := l.refused[b.Cell][b.N]
	if b.Refusal == nil && !refused {
		return l.index.judge(b, hashes)
	}
	v := Verdict{Batch: b}
	clash := Clash{
		Cell: b.Cell, N: b.N, First: outcomesInWords, Second: outcomesInWords, Worker: b.Worker, Digest: b.Digest,
	}
	if refused {
		clash.First = known.String()
	}
	if b.Refusal != nil {
		clash.Second = b.Refusal.String()
	}
	switch {
	case b.Refusal == nil && !slices.ContainsFunc(b.Status, func(s uint8) bool { return s != Lost }):
	case refused && b.Refusal != nil && known.Refusal == *b.Refusal:
		v.Duplicate = 1
	case refused, l.index.cells[b.Cell].point(b.N) != nil:
		v.Clash = &clash
	default:
		v.Refused = true
	}
	return v
}

// commit makes the refusal of a verdict known.
func (r refusals) commit(v Verdict) {
	if !v.Refused {
		return
	}
	b := v.Batch
	if r[b.Cell] == nil {
		r[b.Cell] = map[int64]Refused{}
	}
	r[b.Cell][b.N] = Refused{
		N: b.N, Refusal: Refusal{strings.Clone(b.Refusal.Kind), strings.Clone(b.Refusal.Message)},
		Digest: strings.Clone(b.Digest), Profile: strings.Clone(b.Profile), Worker: strings.Clone(b.Worker),
	}
}

// Refusals returns the sample sizes of the cell that are refused, ascending.
func (l *Ledger) Refusals(cell [32]byte) []Refused {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []Refused
	for _, r := range l.refused[cell] {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b Refused) int { return cmp.Compare(a.N, b.N) })
	return all
}

// Refusal returns the refusal of a sample size of the cell, if there is one.
func (l *Ledger) Refusal(cell [32]byte, n int64) (Refused, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, ok := l.refused[cell][n]
	return r, ok
}
