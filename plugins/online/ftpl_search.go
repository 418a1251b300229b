package online

import (
	"math"
	"math/rand/v2"

	"github.com/shatterlab/shatter/pipeline/concept"
)

// search is the chooser of a class that is not listed. It stores the rounds, with equal points
// merged, and searches the class again in each round, which costs one call of concept.Minimizer on
// as many examples as there are different points.
type search struct {
	*site
	noise
	minimizer concept.Minimizer
	rows      map[string]int // indices of the distinct points, by their bits
	key       []byte         // scratch for such bits
	x, y      []float64      // the distinct points (row-major), and the label +1 for each
	now, all  truths         // truths since the last restart; truths in all rounds
	kept, c   []float64      // noise if it is drawn once; scratch
	played    concept.Hypothesis
}

// agrees reports whether h labels the point x with y.
func agrees(h concept.Hypothesis, x []float64, y float64) bool {
	var label [1]float64
	h.Labels(x, label[:])
	return label[0] == y
}

// truths summarizes the truths of rounds. A hypothesis that labels every point +1 loses minus; each
// point i that it labels -1 instead adds net[i] to its loss.
type truths struct {
	net   []float64 // truths +1 minus truths -1 of each point
	minus int       // number of truths -1
}

// add counts a round at point i, which may be new.
func (w *truths) add(i int, y float64) {
	if i == len(w.net) {
		w.net = append(w.net, 0)
	}
	w.net[i] += y
	if y < 0 {
		w.minus++
	}
}

// newSearch makes a search. It draws the noise that is drawn once.
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

func (s *search) observe(x []float64, y float64) (changed bool, moved float64, err error) {
	s.count(x, y)
	if agrees(s.played, x, y) {
		return true, 0, nil
	}
	after, _, err := s.minimizer.Minimize(s.x, s.y, s.now.net, s.c)
	if err == nil && agrees(after, x, y) {
		moved = 1
	}
	return true, moved, err
}

// count adds a round to the losses.
func (s *search) count(x []float64, y float64) {
	s.key = appendPoint(s.key[:0], x)
	i, ok := s.rows[string(s.key)]
	if !ok {
		i = len(s.y)
		s.rows[string(s.key)] = i
		s.x, s.y = append(s.x, x...), append(s.y, 1)
	}
	s.now.add(i, y)
	s.all.add(i, y)
}

func (s *search) restart() {
	clear(s.now.net)
	s.now.minus = 0
}

func (s *search) least() (int, error)   { return s.fewest(&s.now) }
func (s *search) overall() (int, error) { return s.fewest(&s.all) }

// fewest returns the least loss of a hypothesis in the rounds of w.
func (s *search) fewest(w *truths) (int, error) {
	_, least, err := s.minimizer.Minimize(s.x, s.y, w.net, nil)
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
	s.played, _, err = s.minimizer.Minimize(s.x, s.y, s.now.net, s.c)
	return err
}

func (s *search) predict(x, out []float64) { s.played.Labels(x, out) }
