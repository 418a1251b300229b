package adversary

import (
	"encoding/binary"
	"sync"

	"github.com/shatterlab/shatter/pipeline/concept"
)

// maxPaths bounds the bytes of the paths that a listing knows.
const maxPaths = 1 << 24

// listing is a class that is listed, with the best points of the version spaces that any game on it
// has come to. It serves any number of goroutines.
type listing struct {
	table  *concept.LabelTable
	domain concept.Domain

	mu    sync.Mutex
	known map[string]int // by path
	room  int            // bytes left for paths
}

// list makes the listing of the class. The error is a *blame.Error.
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

// best returns the number of the point to ask after a path that leaves two hypotheses or more.
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
	if need := len(path) + 64; need <= l.room { // an entry takes some 64 bytes beside its key
		l.known[string(path)] = v
		l.room -= need
	}
	return v
}

// search finds that point: the first that splits what is left into two parts of its Littlestone
// dimension less one or more. The memo is a new one, so that the point depends on the path alone,
// whatever other games have asked.
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
	return first // where a search for a dimension ended early
}
