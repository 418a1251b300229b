package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/shatterlab/shatter/pipeline/trial"
)

// Digest returns a SHA-256, in hex, of the parts of the plan that its result depends on. So it covers neither limits,
// nor paths of plugins and data, nor fits, which are computed from finished cells.
func (p *Plan) Digest() string {
	h := sha256.New()
	fmt.Fprintf(h, "%q seed %v\n", p.Name, p.Seed)
	for _, c := range p.Cells {
		fmt.Fprintf(h, "%v %q %s\n", c.Key, c.As, describeSampling(c))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// describeSampling describes the sample sizes and trials of a cell, or its search.
func describeSampling(c *trial.Cell) (text string) {
	var monotone bool
	switch {
	case c.Rung != nil:
		l := c.Rung.Ladder
		text = fmt.Sprintf("search %s at n %v, with which success %s, within %d, confidence %v, at most %d trials",
			l.Axis, c.N, l.Direction(), l.Within, l.Confidence, c.MaxTrials)
		monotone = l.Monotone
	case c.Find == nil:
		return fmt.Sprintf("n %v with %d trials each", c.N, c.Trials)
	default:
		text = fmt.Sprintf("search n from %d to %d, within %v, confidence %v, at most %d trials",
			c.Find.From, c.Find.To, c.Find.Within, c.Find.Confidence, c.MaxTrials)
		if c.Find.Step > 0 {
			text += fmt.Sprintf(", multiples of %d", c.Find.Step)
		}
		monotone = c.Find.Monotone
	}
	if monotone {
		text += ", monotone"
	}
	return text
}
