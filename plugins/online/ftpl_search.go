package online

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/concept"
)

// search is the field of a class that is not listed: the rounds, equal points merged, searched anew in each round. A round costs one
// concept.Minimizer on as many examples as there were different points.
type search struct {
	*site
	noise
	minimizer concept.Minimizer
	rows      map[string]int // points seen, by their numbers' bits
	key       []byte
	x, y      []float64 // the points, and a +1 for each
	now, all  net       // since the last restart; in all rounds
	kept, c   []float64 // noise that is drawn once; scratch
	played    concept.Hypothesis
}

// net is the labels by point. A hypothesis that labels point i -1 loses plus less minus there, in addition to all minus.
type net struct {
	of    []float64 // plus less minus of each point
	minus int
}

func (w *net) add(i int, y float64) {
	if i == len(w.of) {
		w.of = append(w.of, 0)
	}
	w.of[i] += y
	if y < 0 {
		w.minus++
	}
}

func newSearch(at *site, n noise, r *rand.Rand) (*search, error) {
	m, err := at.class.NewMinimizer(at.separator.Points)
	if err != nil {
		return nil, err
	}
	s := &search{site: at, noise: n, minimizer: m, rows: map[string]int{}, c: make([]float64, at.separator.Len())}
	if n.once {
		s.kept = make([]float64, len(s.c))
		n.fill(s.kept, r)
	}
	return s, nil
}

func (s *search) observe(x []float64, y float64) (changed bool, err error) {
	s.key = s.key[:0]
	for _, v := range x {
		s.key = binary.LittleEndian.AppendUint64(s.key, math.Float64bits(v+0)) // -0 becomes 0
	}
	i, ok := s.rows[string(s.key)]
	if !ok {
		i = len(s.y)
		s.rows[string(s.key)] = i
		s.x, s.y = append(s.x, x...), append(s.y, 1)
	}
	s.now.add(i, y)
	s.all.add(i, y)
	return true, nil
}

func (s *search) restart() {
	clear(s.now.of)
	s.now.minus = 0
}

func (s *search) least() (int, error)   { return s.fewest(&s.now) }
func (s *search) overall() (int, error) { return s.fewest(&s.all) }

func (s *search) fewest(w *net) (int, error) {
	_, least, err := s.minimizer.Minimize(s.x, s.y, w.of, nil)
	return int(math.Round(least)) + w.minus, err
}

func (s *search) draw(scale float64, r *rand.Rand) (err error) {
	if s.once {
		copy(s.c, s.kept)
	} else {
		s.fill(s.c, r)
	}
	for j := range s.c {
		s.c[j] *= scale
	}
	s.played, _, err = s.minimizer.Minimize(s.x, s.y, s.now.of, s.c)
	return err
}

func (s *search) predict(x, out []float64) { s.played.Labels(x, out) }
