package adversary

import (
	"encoding/binary"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/schemas"
)

// versionSpace is the set of hypotheses that agree with all truths so far, at least one.
type versionSpace interface {
	// split writes the point that forces most mistakes into x, and returns false if one
	// hypothesis is left.
	split(x []float64) bool
	// labels reports which labels of a point occur among the hypotheses.
	labels(x []float64) (minus, plus bool)
	// restrict keeps the hypotheses that label a point y.
	restrict(x []float64, y float64)
}

// versions returns the version space of all hypotheses. The error is a *blame.Error.
func (v *View) versions(a schemas.Adversary) (versionSpace, error) {
	switch v.class.Name {
	case concept.Naturals:
		return &naturalRange{thresholdRange{1, concept.MaxNatural + 1}, a.From}, nil
	case concept.Dyadics:
		return &dyadicRange{0, 1}, nil
	case concept.Thresholds:
		if v.class.NoConstant {
			return &thresholdRange{high: v.class.Domain - 1}, nil
		}
		return &thresholdRange{high: v.class.Domain}, nil
	}
	all, err := v.listed()
	if err != nil {
		return nil, err
	}
	return &listedVersions{all: all, space: all.table.Versions()}, nil
}

// thresholdRange is the set of thresholds low..high.
type thresholdRange struct{ low, high uint64 }

// split halves the range, which is optimal: n thresholds force floor(log2 n) mistakes.
func (s *thresholdRange) split(x []float64) bool {
	if s.low == s.high {
		return false
	}
	x[0] = float64(s.low + (s.high-s.low+1)/2 - 1)
	return true
}

func (s *thresholdRange) labels(x []float64) (minus, plus bool) {
	v := uint64(x[0])
	return s.high > v, s.low <= v
}

func (s *thresholdRange) restrict(x []float64, y float64) {
	v := uint64(x[0])
	if y > 0 {
		s.high = min(s.high, v)
	} else {
		s.low = max(s.low, v+1)
	}
}

// naturalRange is the set of thresholds low, low+1, ... on the natural numbers until a point is
// labeled +1, then the remaining range. The last threshold of the range represents all thresholds
// above every point that can be asked.
type naturalRange struct {
	thresholdRange
	reach uint64 // number of thresholds that remain after a point labeled +1
}

func (s *naturalRange) split(x []float64) bool {
	if s.high <= concept.MaxNatural || s.low == s.high {
		return s.thresholdRange.split(x)
	}
	x[0] = float64(min(s.low+s.reach-1, concept.MaxNatural))
	return true
}

// dyadicRange is the set of dyadic thresholds t with low < t <= high.
type dyadicRange struct{ low, high float64 }

// split halves the interval. The midpoint is exact for as many rounds as CheckRounds allows.
func (s *dyadicRange) split(x []float64) bool {
	x[0] = (s.low + s.high) / 2
	return true
}

func (s *dyadicRange) labels(x []float64) (minus, plus bool) { return s.high > x[0], s.low < x[0] }

func (s *dyadicRange) restrict(x []float64, y float64) {
	if y > 0 {
		s.high = min(s.high, x[0])
	} else {
		s.low = max(s.low, x[0])
	}
}

// listedVersions is the remaining set of hypotheses of a listed class.
type listedVersions struct {
	all   *listing
	space concept.VersionSpace
	path  []byte // truths that led to it
}

func (s *listedVersions) split(x []float64) bool {
	if s.space.Size() == 1 {
		return false
	}
	copy(x, s.all.table.Point(s.all.best(s.path)))
	return true
}

func (s *listedVersions) labels(x []float64) (minus, plus bool) {
	i := s.all.domain.Number(x)
	return s.space.Restrict(i, -1).Size() > 0, s.space.Restrict(i, 1).Size() > 0
}

func (s *listedVersions) restrict(x []float64, y float64) {
	i := s.all.domain.Number(x)
	next := s.space.Restrict(i, y)
	if next.Size() < s.space.Size() {
		s.path = appendStep(s.path, i, y)
	}
	s.space = next
}

// A path is a sequence of points and their truths, 4 bytes each.
const stepBytes = 4

func appendStep(path []byte, point int, y float64) []byte {
	step := uint32(point) << 1 // below 2^20
	if y > 0 {
		step++
	}
	return binary.LittleEndian.AppendUint32(path, step)
}
