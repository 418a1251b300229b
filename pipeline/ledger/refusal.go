package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Refusal is the answer of an algorithm that accepts no samples of a size. It replaces the rows
// of a Batch.
type Refusal struct {
	Kind    string // Infeasible or Invalid
	Message string // the algorithm's reason, at most 4 KiB; part of the result, so it must be the same on all machines
}

// The kinds of refusals.
const (
	Infeasible = "infeasible" // not possible with this sample size and budget
	Invalid    = "invalid"    // the setting is invalid for the algorithm, or its answer is invalid
)

// maxRefusal is the largest size of a refusal's message, in bytes.
const maxRefusal = 4 << 10

// NewRefusal returns a refusal whose message is valid UTF-8 and is truncated if it is too long.
func NewRefusal(kind, message string) *Refusal {
	message = message[:min(len(message), maxRefusal)]
	return &Refusal{kind, strings.ToValidUTF8(message, "")}
}

// String returns "KIND: MESSAGE".
func (r Refusal) String() string { return r.Kind + ": " + r.Message }

// Refused is a refused sample size of a cell.
type Refused struct {
	N int64
	Refusal
	Digest, Profile string // plugin file and float profile of the refusal
	Worker          string // sender of the refusal
}

// compare compares the size with n.
func (r Refused) compare(n int64) int { return cmp.Compare(r.N, n) }

// Clash is a contradiction about a sample size: a refusal and outcomes, or two different
// refusals. The first answer counts.
type Clash struct {
	N             int64
	First, Second string // "outcomes", or a description of a refusal
	Worker        string // sender of the second answer
	Digest        string // plugin file of the second answer
}

// outcomesInWords represents outcomes in a Clash.
const outcomesInWords = "outcomes"

// equal reports whether two clashes are about the same answers.
func (c Clash) equal(d Clash) bool { return c.N == d.N && c.First == d.First && c.Second == d.Second }

// checkRefusal returns an error if a batch with a refusal violates a rule.
func (b *Batch) checkRefusal() error {
	switch r := b.Refusal; {
	case len(b.Repetition)+len(b.Status)+len(b.Error)+len(b.Metrics)+len(b.Values)+len(b.Kind)+len(b.Reason) > 0:
		return errors.New("it has a refusal and rows")
	case r.Kind != Infeasible && r.Kind != Invalid:
		return fmt.Errorf("refusal of the kind %.80q: must be %s or %s", r.Kind, Infeasible, Invalid)
	case len(r.Message) > maxRefusal:
		return fmt.Errorf("refusal of %d bytes: at most %d are allowed", len(r.Message), maxRefusal)
	}
	return nil
}

// refusal returns the refusal of a sample size; nil if there is none. c may be nil.
func (c *cellIndex) refusal(n int64) *Refused {
	if c == nil {
		return nil
	}
	if i, known := slices.BinarySearchFunc(c.refused, n, Refused.compare); known {
		return &c.refused[i]
	}
	return nil
}

// judgeRefusal compares a batch about a sample size with the index if either contains a refusal:
// the batch, or known.
func (v *Verdict) judgeRefusal(known *Refused, outcomes bool) {
	b := v.Batch
	clash := Clash{N: b.N, First: outcomesInWords, Second: outcomesInWords, Worker: b.Worker, Digest: b.Digest}
	if known != nil {
		clash.First = known.String()
	}
	if b.Refusal != nil {
		clash.Second = b.Refusal.String()
	}
	switch {
	case b.Refusal == nil && !slices.ContainsFunc(b.Status, func(s uint8) bool { return s != Lost }):
	case known != nil && b.Refusal != nil && known.Refusal == *b.Refusal:
		v.Duplicate = 1
	case known != nil || outcomes:
		v.Clash = &clash
	default:
		v.Refused = true
	}
}
