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
	maxFunctions = 1 << 16 // of a class that is listed: a round takes up to a fraction of a millisecond
	maxColumns   = 1 << 26 // bytes of the columns that a board keeps
)

// board is a class with what games on it share: it saves time and changes no game. Any number of goroutines may play on one.
type board struct {
	spec   concept.Spec
	class  concept.Finite // nil for thresholds on an infinite order
	size   uint64         // |H|; 0 where it is 2^64 or more, or infinite
	lnSize float64
	values uint64 // a coordinate of a point is a whole number below it

	mu      sync.Mutex
	columns map[string][]uint64 // by the bits of the point
	room    int                 // bytes left for them

	root   func() (concept.VersionSpace, error) // all functions; the error is Invalid
	search sync.Mutex                           // held while a version space looks up its dimension in the memo that all of them share
}

func newBoard(spec concept.Spec) (*board, error) {
	c, err := concept.New(spec)
	if err != nil {
		return nil, algo.Invalid("online: %v", err)
	}
	b := &board{spec: spec, values: spec.Domain, columns: map[string][]uint64{}, room: maxColumns}
	if concept.InfiniteThresholds(spec.Name) {
		b.lnSize = c.LogSize()
		return b, nil
	}
	var finite bool
	if b.class, finite = c.(concept.Finite); !finite {
		return nil, algo.Invalid("online: class %q has infinitely many functions: use thresholds or another finite class", spec.Name)
	}
	b.lnSize = c.LogSize()
	if size := c.Size(); size != nil && size.IsUint64() {
		b.size = size.Uint64()
	}
	switch spec.Name {
	case "parities", "monotone-conjunctions", "conjunctions":
		b.values = 2
	}
	b.root = sync.OnceValues(func() (concept.VersionSpace, error) {
		t, err := concept.NewLabelTable(b.class, spec)
		if err != nil {
			return concept.VersionSpace{}, algo.Invalid("online: %v for a version space; or take online/hedge, which needs no list of points", err)
		}
		return t.Versions(), nil
	})
	return b, nil
}

// intervals tells whether the functions are the thresholds: the sets of them that games need are intervals, and nothing is listed.
func (b *board) intervals() bool { return b.spec.Name == "thresholds" }

// infinite tells whether the functions are the thresholds on an infinite order.
func (b *board) infinite() bool { return b.class == nil }

// check refuses points outside the domain.
func (b *board) check(x []float64) error {
	dim := 1
	if !b.infinite() {
		dim = b.class.Dim()
	}
	if len(x) != dim {
		return fmt.Errorf("point %v has %d numbers: class %q takes %d", x, len(x), b.spec.Name, dim)
	}
	if b.infinite() {
		_, err := concept.Rank(b.spec.Name, x[0])
		return err
	}
	for _, v := range x {
		if !(v >= 0 && v < float64(b.values) && v == math.Trunc(v)) {
			return fmt.Errorf("point %v is outside the domain of class %q: its numbers are whole, from 0 to %d", x, b.spec.Name, b.values-1)
		}
	}
	return nil
}

// checkRound refuses a point outside the domain, and a truth that is no label.
func (b *board) checkRound(x []float64, y float64) error {
	if y != -1 && y != 1 {
		return fmt.Errorf("truth %v of point %v: a label is -1 or +1", y, x)
	}
	return b.check(x)
}

// number is that of a point in the label table of the class.
func (b *board) number(x []float64) int {
	n := 0
	for j := len(x) - 1; j >= 0; j-- {
		n = n*int(b.values) + int(x[j])
	}
	return n
}

// column is the set of the functions that label a point of the domain +1: bit i%64 of word i/64 for function i. It must not be written.
func (b *board) column(x []float64) []uint64 {
	var short [128]byte
	key := short[:0]
	for _, v := range x {
		key = binary.LittleEndian.AppendUint64(key, math.Float64bits(v))
	}
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

// boards makes each board once, and keeps the last few.
type boards struct {
	cache finite.Cache[concept.Spec, *board]
}

func (s *boards) at(p algo.Problem) (*board, error) { return s.cache.Get(finite.SpecOf(p), newBoard) }

// finite is a board of finitely many functions.
func (s *boards) finite(p algo.Problem) (*board, error) {
	b, err := s.at(p)
	if err == nil && b.infinite() {
		return nil, algo.Invalid("online: class %q has infinitely many functions, of infinite Littlestone dimension: they can be neither counted nor weighed, "+
			"and no bound is finite; take %s, or thresholds on a domain", p.Class, playersOf(p.Class))
	}
	return b, err
}

// playersOf are the learners of a class on an infinite order.
func playersOf(class string) string {
	if class == concept.Naturals {
		return "online/soa or online/follow-the-leader"
	}
	return "online/follow-the-leader"
}

// listed is a board for losses: one whose class is small enough to be listed, or the thresholds.
func (s *boards) listed(p algo.Problem) (*board, error) {
	b, err := s.finite(p)
	if err != nil {
		return nil, err
	}
	if !b.intervals() && (b.size == 0 || b.size > maxFunctions) {
		return nil, algo.Invalid("online: class %q has %v functions, at most %d are possible: take a smaller domain or dimension, or thresholds",
			b.spec.Name, b.class.Size(), maxFunctions)
	}
	return b, nil
}
