package adversary

import (
	"fmt"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/problem/blame"
	"github.com/shatterlab/shatter/schemas"
)

// maxHalvings is the permitted number of halvings of [0, 1): the results are multiples of 2^-53,
// which float64 represents exactly; the next point may lie between two of them.
const maxHalvings = 53

var bisecting = Adversary{
	Name: "bisecting",
	Doc: "like tree on thresholds; at the end it alternates between the two points next to the edge. On the " +
		"natural numbers it starts at the point from and doubles the distance after each label -1, until " +
		"the first +1 leaves a range of thresholds to bisect. On the dyadic numbers in [0, 1), a dense " +
		"order, bisection never ends, except that float64 represents only 53 halvings exactly",
	Reveals: "nothing: there is no target, the truths contradict the answers",
	Place:   5,
	Refuses: func(p *schemas.Problem) string {
		switch p.Class {
		case concept.Thresholds, concept.Naturals, concept.Dyadics:
			return ""
		}
		return fmt.Sprintf("needs one of the classes %s, %s and %s", concept.Thresholds, concept.Naturals, concept.Dyadics)
	},
	From:       []string{concept.Naturals},
	Knows:      coinsOrAnswers,
	Realizable: always,
	rounds: func(g game, a schemas.Adversary) (Rounds, error) {
		o, err := newTreeRounds(g, a)
		if err != nil {
			return nil, err
		}
		switch left := o.left.(type) {
		case *thresholdRange:
			return &bisectingRounds{treeRounds: *o, thresholds: left, top: g.class.Domain - 1}, nil
		case *naturalRange:
			return &bisectingRounds{treeRounds: *o, thresholds: &left.thresholdRange, bottom: 1, top: concept.MaxNatural}, nil
		}
		return o, nil
	},
}

// CheckRounds returns a *blame.Error with the key "rounds" if there are more rounds than an
// adversary can play on a problem.
func CheckRounds(p *schemas.Problem, rounds int64) error {
	if p.Class == concept.Dyadics && rounds > maxHalvings {
		return blame.Key("rounds", "%d are too many on the class %s: after %d halvings of [0, 1) the next point may have "+
			"more binary digits "+
			"than a float64; take at most %d", rounds, p.Class, maxHalvings, maxHalvings)
	}
	return nil
}

// bisectingRounds asks the points next to the edge at the end.
type bisectingRounds struct {
	treeRounds
	thresholds  *thresholdRange // remaining thresholds
	bottom, top uint64          // ends of the domain
	turn        bool
}

func (o *bisectingRounds) Next(x []float64) {
	if !o.left.split(x) {
		v := o.thresholds.low
		if o.turn = !o.turn; o.turn && v > 0 {
			v--
		}
		x[0] = float64(min(max(v, o.bottom), o.top))
	}
	copy(o.asked, x)
}
