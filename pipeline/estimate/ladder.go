package estimate

// A Ladder is a search over the values of a parameter other than n, by their positions 1, 2, 3
// and so on. Success is least likely at the first position. The trials at a position belong to a
// separate cell, whose Decider is the position's rung. The cells must draw their trials
// independently of each other.
type Ladder struct{ *Search }

// NewLadder starts the search over the positions From to To of find. Its reasons use words.
func NewLadder(find Find, words Words) (*Ladder, error) {
	s, err := NewSearch(find)
	if err != nil {
		return nil, err
	}
	s.say, s.fall, s.remedy = words.Size, words.Fall, words.Remedy
	return &Ladder{s}, nil
}

// Rung returns the Decider of the cell at a position, whose trials have sample size n.
func (l *Ladder) Rung(position, n int64) Decider { return rung{l.Search, position, n} }

// rung is the Decider of a cell on a ladder.
type rung struct {
	*Search
	position, n int64
}

// Needs returns n if the search needs the position.
func (r rung) Needs() []int64 {
	for _, position := range r.Search.Needs() {
		if position == r.position {
			return []int64{r.n}
		}
	}
	return nil
}

// Want returns the blocks that the search wants at the position.
func (r rung) Want() []Block { return r.own(r.Search.Want()) }

// Left predicts the trials that the search will read at the position.
func (r rung) Left() []Block { return r.own(r.Search.Left()) }

// own returns the blocks at the position.
func (r rung) own(blocks []Block) (own []Block) {
	for _, b := range blocks {
		if b.N == r.position {
			b.N = r.n
			own = append(own, b)
		}
	}
	return own
}

// Add adds an outcome at the position to the search.
func (r rung) Add(n int64, rep int, o Outcome) {
	if n == r.n {
		r.Search.Add(r.position, rep, o)
	}
}

// Lost records a lost trial at the position.
func (r rung) Lost(n int64, rep int, reason string) {
	if n == r.n {
		r.Search.Lost(r.position, rep, reason)
	}
}

// Infeasible records that the algorithm refuses n at the position.
func (r rung) Infeasible(n int64, reason string) {
	if n == r.n {
		r.Search.Infeasible(r.position, reason)
	}
}

// Result returns the position's result: its trials, and whether n suffices there.
func (r rung) Result() Result {
	of := r.Search.Result()
	out := Result{Status: of.Status, Reason: of.Reason, Falls: of.Falls}
	if r.position <= of.Low {
		out.Low = r.n
	}
	if of.High != 0 && r.position >= of.High {
		out.High = r.n
	}
	for _, p := range of.Points {
		if p.N == r.position {
			p.N = r.n
			out.Points, out.Trials = append(out.Points, p), int64(p.Consumed)
		}
	}
	return out
}
