package coordinator

// sizeCost is the time that trials of a sample size took.
type sizeCost struct {
	n       int64
	trials  int64
	seconds float64 // sum over the trials
}

// A costLine predicts the seconds of a trial at n: base + slope*n. Neither is negative. The zero value
// means that nothing was measured.
type costLine struct{ base, slope float64 }

func (l costLine) at(n int64) float64 { return l.base + l.slope*float64(n) }

// fitCosts returns the line with the least relative squared error per trial. With one sample size the cost is
// proportional to n.
func fitCosts(costs []sizeCost) costLine {
	const least = 1e-9 // seconds of a trial that was too short to be measured
	var w, x, y, xx, xy float64
	for _, c := range costs {
		n, seconds := float64(c.n), max(least, c.seconds/float64(c.trials))
		weight := float64(c.trials) / (seconds * seconds)
		w += weight
		x += weight * n
		y += weight * seconds
		xx += weight * n * n
		xy += weight * n * seconds
	}
	d := w*xx - x*x
	switch base, slope := (xx*y-x*xy)/d, (w*xy-x*y)/d; {
	case len(costs) == 0:
		return costLine{}
	case len(costs) == 1 || d <= 0 || base < 0:
		return costLine{slope: xy / xx}
	case slope < 0:
		return costLine{base: y / w}
	default:
		return costLine{base, slope}
	}
}

// cost fits the cell's trials of this run.
func (c *cell) cost() costLine {
	var costs []sizeCost
	for _, s := range c.sizes {
		if s.trials > 0 {
			costs = append(costs, sizeCost{s.n, s.trials, s.seconds})
		}
	}
	return fitCosts(costs)
}
