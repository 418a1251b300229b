package adversary

import (
	"encoding/binary"
	"sync"

	"github.com/shatterlab/shatter/pipeline/concept"
)

// maxPaths limits the bytes of the paths in a listing.
const maxPaths = 1 << 24

// listing is a listed class, with a cache of the best points of the version spaces in all games
// on it. It is safe for concurrent use.
type listing struct {
	table  *concept.LabelTable
	domain concept.Domain

	mu    sync.Mutex
	known map[string]int // best point by path
	room  int            // remaining bytes for paths
}

// list creates the listing of the class. The error is a *blame.Error.
func (v *View) list() (*listing, error) {
	c, err := v.finite()
	if err != nil {
		return nil, err
	}
	t, err := concept.NewLabelTable(c, v.class)
	if err != nil {
		return nil, refuse("kind", "%v", err)
	}
	if d := t.Versions().Ldim(); !d.Exact() {
		return nil, refuse("kind", "the Littlestone dimension of the %d hypotheses is %v, the search ends there; take a "+
			"smaller class, or choose %s",
			t.Functions(), d, leaderKiller.Name)
	}
	return &listing{table: t, domain: concept.DomainOf(c, v.class), known: map[string]int{}, room: maxPaths}, nil
}

// finite returns the class of the problem. The error is a *blame.Error.
func (v *View) finite() (concept.Finite, error) {
	c, err := concept.New(v.class)
	if err != nil {
		return nil, refuse("kind", "%v", err)
	}
	f, ok := c.(concept.Finite)
	if !ok {
		return nil, refuse("kind", "the class %s has infinitely many hypotheses", c.Name())
	}
	return f, nil
}

// best returns the number of the best point after a path that leaves at least two hypotheses.
func (l *listing) best(path []byte) int {
	l.mu.Lock()
	v, known := l.known[string(path)]
	l.mu.Unlock()
	if known {
		return v
	}
	v = l.search(path)
	l.mu.Lock()
	defer l.mu.Unlock()
	if need := len(path) + 64; need <= l.room { // 64 bytes are the overhead of an entry
		l.known[string(path)] = v
		l.room -= need
	}
	return v
}

// search computes the best point: the first that splits the remaining hypotheses into two parts
// of at least their Littlestone dimension minus one. It uses a new memo, so that the point
// depends on the path alone, not on other games.
func (l *listing) search(path []byte) int {
	left := l.table.Versions()
	for ; len(path) > 0; path = path[stepBytes:] {
		step := binary.LittleEndian.Uint32(path)
		left = left.Restrict(int(step>>1), 2*float64(step&1)-1)
	}
	d, first := left.Ldim().Low, -1
	for v := range l.table.Len() {
		minus, plus := left.Restrict(v, -1), left.Restrict(v, 1)
		small := min(minus.Size(), plus.Size())
		if first < 0 && small > 0 {
			first = v
		}
		if small >= 1<<(d-1) && minus.Ldim().Low >= d-1 && plus.Ldim().Low >= d-1 {
			return v
		}
	}
	return first // a search for a dimension ended early
}
