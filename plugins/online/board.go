package online

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/finite"
)

const (
	maxFunctions = 1 << 16 // largest size of a listed class: a round takes up to a fraction of a millisecond
	maxColumns   = 1 << 26 // largest total size of a board's columns, in bytes
)

// A board holds a class and the data that its games share. Sharing saves time and does not change
// any game. A board is safe for concurrent use.
type board struct {
	spec       concept.Spec
	definition *concept.Definition
	domain     concept.Domain
	class      concept.Finite // nil for thresholds on an infinite order
	size       uint64         // |H|; 0 if it is 2^64 or more, or infinite
	lnSize     float64        // ln |H|

	mu      sync.Mutex
	columns map[string][]uint64 // results of column, by the bits of the point
	room    int                 // free space for columns, in bytes

	root   func() (concept.VersionSpace, error) // all functions; its error is Invalid
	search sync.Mutex                           // guards the memo of dimensions shared by all version spaces
}

// newBoard makes the board of a class. Its errors are Invalid.
func newBoard(spec concept.Spec) (*board, error) {
	c, err := concept.New(spec)
	if err != nil {
		return nil, algo.Invalid("online: %v", err)
	}
	b := &board{
		spec: spec, domain: concept.DomainOf(c, spec), lnSize: c.LogSize(),
		columns: map[string][]uint64{}, room: maxColumns,
	}
	b.definition, _ = concept.Lookup(spec.Name) // New has checked the name
	if concept.InfiniteThresholds(spec.Name) {
		return b, nil
	}
	var finite bool
	if b.class, finite = c.(concept.Finite); !finite {
		return nil, algo.Invalid("online: class %q has infinitely many functions: use thresholds or another finite class",
			spec.Name)
	}
	if size := c.Size(); size != nil && size.IsUint64() {
		b.size = size.Uint64()
	}
	b.root = sync.OnceValues(func() (concept.VersionSpace, error) {
		t, err := concept.NewLabelTable(b.class, spec)
		if err != nil {
			return concept.VersionSpace{}, algo.Invalid("online: %v for a version space; or use online/hedge, "+
				"which needs no list of points", err)
		}
		return t.Versions(), nil
	})
	return b, nil
}

// intervals reports whether the functions are thresholds. The sets of thresholds that occur in
// games are intervals, so nothing is listed.
func (b *board) intervals() bool { return b.definition.Thresholds }

// infinite reports whether the functions are the thresholds on an infinite order.
func (b *board) infinite() bool { return b.class == nil }

// checkRound returns an error if x is not a point of the domain or y is not a label.
func (b *board) checkRound(x []float64, y float64) error {
	if y != -1 && y != 1 {
		return fmt.Errorf("truth %v of point %v: must be -1 or +1", y, x)
	}
	return b.domain.Check(x)
}

// predict checks every point of x and writes answer's prediction for it to out.
func (b *board) predict(x *algo.Data, out []float64, answer func(x []float64) (float64, error)) error {
	for i := range x.Len() {
		err := b.domain.Check(x.X(i))
		if err != nil {
			return err
		}
		if out[i], err = answer(x.X(i)); err != nil {
			return err
		}
	}
	return nil
}

// observe checks every round, a point of x with its truth in y, and passes it to learn.
func (b *board) observe(x *algo.Data, y []float64, learn func(x []float64, y float64) error) error {
	for i := range x.Len() {
		if err := b.checkRound(x.X(i), y[i]); err != nil {
			return err
		}
		if err := learn(x.X(i), y[i]); err != nil {
			return err
		}
	}
	return nil
}

// column returns the set of functions that label the point x +1, in the layout of label. The caller
// must not change it.
func (b *board) column(x []float64) []uint64 {
	var short [128]byte
	key := appendPoint(short[:0], x)
	b.mu.Lock()
	defer b.mu.Unlock()
	if c, ok := b.columns[string(key)]; ok {
		return c
	}
	c := b.label(x)
	if need := 8*len(c) + len(key); need <= b.room {
		b.columns[string(key)] = c
		b.room -= need
	}
	return c
}

// appendPoint appends the bits of the coordinates of a point to key. -0 counts as 0.
func appendPoint(key []byte, x []float64) []byte {
	for _, v := range x {
		key = binary.LittleEndian.AppendUint64(key, math.Float64bits(v+0))
	}
	return key
}

// label computes the set of functions that label the point x +1: function i is bit i%64 of word
// i/64.
func (b *board) label(x []float64) []uint64 {
	c := make([]uint64, (b.size+63)/64)
	var label [1]float64
	for i := range b.size {
		if b.class.Member(i).Labels(x, label[:]); label[0] > 0 {
			c[i/64] |= 1 << (i % 64)
		}
	}
	return c
}

// boards makes the board of each class once, and caches a few of them.
type boards struct {
	cache finite.Cache[concept.Spec, *board]
}

func (s *boards) at(p algo.Problem) (*board, error) { return s.cache.Get(finite.SpecOf(p), newBoard) }

// finite returns the board of p, or an Invalid error for a class of infinitely many functions.
func (s *boards) finite(p algo.Problem) (*board, error) {
	b, err := s.at(p)
	if err == nil && b.infinite() {
		return nil, algo.Invalid("online: class %q has infinitely many functions, of infinite Littlestone dimension: "+
			"they cannot be counted or weighted, and no bound is finite; use %s, or thresholds on a domain",
			p.Class, b.learners())
	}
	return b, err
}

// learners names the algorithms that support the thresholds on the infinite order of b.
func (b *board) learners() string {
	if b.definition.Dense {
		return "online/follow-the-leader"
	}
	return "online/soa or online/follow-the-leader"
}

// listed returns the board of p for games that count the losses of all functions. It returns an
// Invalid error for a class that is too large to be listed and is not the thresholds.
func (s *boards) listed(p algo.Problem) (*board, error) {
	b, err := s.finite(p)
	if err != nil {
		return nil, err
	}
	if !b.intervals() && (b.size == 0 || b.size > maxFunctions) {
		return nil, algo.Invalid("online: class %q has %v functions, the limit is %d: "+
			"use a smaller domain or dimension, or thresholds", b.spec.Name, b.class.Size(), maxFunctions)
	}
	return b, nil
}
