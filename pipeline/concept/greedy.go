package concept

import (
	"fmt"
	"slices"
)

// maxGreedy is the largest number of hypotheses, and of points of the domain, for the greedy
// search: tables of 2^24 entries.
const maxGreedy = 1 << 12

// greedy separates a class by greedy set cover over the pairs of its hypotheses: it repeatedly
// chooses the point that separates most pairs not yet separated, the first in case of ties. It
// needs at most ln(|H|^2) times the least number of points that separate all pairs.
func greedy(c Finite, s Spec) (*Separator, error) {
	n, err := listable(c, maxGreedy)
	if err != nil {
		return nil, err
	}
	domain, err := allPoints(c.Dim(), Side(s), maxGreedy)
	if err != nil {
		return nil, err
	}
	chosen, err := newCover(c, n, domain).run()
	if err != nil {
		return nil, err
	}
	slices.Sort(chosen)
	z := make([]float64, 0, len(chosen)*c.Dim())
	for _, p := range chosen {
		z = append(z, domain[p*c.Dim():(p+1)*c.Dim()]...)
	}
	return computed(c, z)
}

// cover is the state of the set cover. Its atoms are the sets of hypotheses that agree on all
// points chosen so far. A point separates p (k-p) pairs of an atom of k hypotheses, p of which
// label it +1. When an atom is split, only its smaller part is recounted. A hypothesis is in the
// smaller part at most log2 |H| times, so that all points together take O(|H| log |H| points).
type cover struct {
	name   string
	points int
	labels []uint8 // one row per hypothesis: 1 if it labels the point +1
	atoms  []atom  // atoms of at least two hypotheses
	gain   []int   // number of pairs within an atom that the point would separate
}

// atom is a set of hypotheses, with the number of them that label each point +1.
type atom struct {
	members []int
	plus    []uint16
}

// newCover tabulates the labels of the first n hypotheses, which form one atom.
func newCover(c Finite, n int, domain []float64) *cover {
	points := len(domain) / c.Dim()
	v := &cover{name: c.Name(), points: points, labels: make([]uint8, n*points), gain: make([]int, points)}
	all, out := make([]int, n), make([]float64, points)
	for i := range all {
		all[i] = i
		c.Member(uint64(i)).Labels(domain, out)
		for p, label := range out {
			if label > 0 {
				v.labels[i*points+p] = 1
			}
		}
	}
	v.keep(atom{all, v.count(all)})
	return v
}

// run chooses points until every atom is a single hypothesis.
func (v *cover) run() (chosen []int, err error) {
	for len(v.atoms) > 0 {
		best := 0
		for p, gain := range v.gain {
			if gain > v.gain[best] {
				best = p
			}
		}
		if v.gain[best] == 0 {
			twins := v.atoms[0].members
			return nil, fmt.Errorf("separate class %q: hypotheses %d and %d agree on the whole domain",
				v.name, twins[0], twins[1])
		}
		chosen = append(chosen, best)
		atoms := v.atoms
		v.atoms = nil
		for _, a := range atoms {
			v.split(a, best)
		}
	}
	return chosen, nil
}

// split replaces an atom by its two parts at a point.
func (v *cover) split(a atom, point int) {
	var plus, minus []int
	for _, i := range a.members {
		if v.labels[i*v.points+point] == 1 {
			plus = append(plus, i)
		} else {
			minus = append(minus, i)
		}
	}
	if len(plus) == 0 || len(minus) == 0 {
		v.atoms = append(v.atoms, a)
		return
	}
	v.drop(a)
	small, large := plus, minus
	if len(small) > len(large) {
		small, large = large, small
	}
	counts := v.count(small)
	for p, k := range counts {
		a.plus[p] -= k
	}
	v.keep(atom{small, counts})
	v.keep(atom{large, a.plus})
}

// count returns, for each point, the number of the hypotheses that label it +1.
func (v *cover) count(members []int) []uint16 {
	plus := make([]uint16, v.points)
	for _, i := range members {
		for p, label := range v.labels[i*v.points : (i+1)*v.points] {
			plus[p] += uint16(label)
		}
	}
	return plus
}

// keep adds an atom, unless it has a single hypothesis and therefore no pairs.
func (v *cover) keep(a atom) {
	if len(a.members) < 2 {
		return
	}
	v.atoms = append(v.atoms, a)
	for p, k := range a.plus {
		v.gain[p] += int(k) * (len(a.members) - int(k))
	}
}

// drop subtracts the pairs of an atom from the gains.
func (v *cover) drop(a atom) {
	for p, k := range a.plus {
		v.gain[p] -= int(k) * (len(a.members) - int(k))
	}
}
