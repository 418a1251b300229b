package host

import (
	"context"
	"fmt"
	"math"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// Step asks each trial j for answers to its next counts[j] points. It calls fill one or more times, in order, with room
// for the next points (row-major, trial after trial). The sum(counts) answers are valid until the next call. A trial
// with an answer other than -1 and +1 gets a fault; if the setting asks for means, or the task is online, only an
// answer that is NaN or outside [-1, 1] is a fault. Counts of failed trials should be 0: their answers have no meaning.
// A *SizeError leaves the session unchanged.
func (s *Session) Step(ctx context.Context, counts []uint32, fill func(x []float64)) (
	answers []float64, faults []Fault, err error,
) {
	return s.put(ctx, counts, fill, false, nil)
}

// Play asks about the adversary's next queries, as Step does, for the task predict. The answers are
// labels; marks, one for each answer, are 1 where the plugin marked the query as hard. A trial with
// an answer that is neither -1 nor +1 gets a fault.
func (s *Session) Play(ctx context.Context, counts []uint32, fill func(x []float64)) (
	labels []float64, marks []byte, faults []Fault, err error,
) {
	labels, faults, err = s.put(ctx, counts, fill, true, nil)
	return labels, s.marks, faults, err
}

// put asks about points that come from fill.
func (s *Session) put(ctx context.Context, counts []uint32, fill func(x []float64), play bool, truths []float64) (
	[]float64, []Fault, error,
) {
	return s.step(ctx, counts, s.mostRows(), func(c *piece, q *pluginv1.Step) (err error) {
		q.Play, q.Truths = play, packed(truths)
		q.Points, err = s.fill(0, c.rows, false, func(x, _ []float64) { fill(x) })
		return err
	})
}

func (s *replies) dim() int { return int(s.setting.Problem.Dim) }

// mostRows returns the largest number of points that fit one message.
func (s *replies) mostRows() int { return min(MaxAnswers, max(1, MaxPoints/(8*s.dim()))) }

// Round asks about the next points of online games, like Step, at most one for each trial. truths holds the labels of
// the previous round's points, in order; nil in the first round. Close takes the truths of the last round.
func (s *Session) Round(ctx context.Context, counts []uint32, truths []float64, fill func(x []float64)) (
	answers []float64, faults []Fault, err error,
) {
	rows := 0
	for _, c := range counts {
		rows += int(c)
	}
	if limit := s.mostRows(); rows > limit {
		return nil, nil, fmt.Errorf("play a round of %d games: at most %d fit a message", rows, limit)
	}
	return s.put(ctx, counts, fill, true, truths)
}

// StepShared asks, as Step does, about the rows first..first+counts[j]-1 of the shared dataset, the
// same rows for all trials.
func (s *Session) StepShared(ctx context.Context, counts []uint32, first uint64) (
	answers []float64, faults []Fault, err error,
) {
	points := s.p.points
	if points == nil || int(points.Dim) != s.dim() {
		return nil, nil, fmt.Errorf("step: the process has no dataset of dimension %d", s.dim())
	}
	for _, count := range counts {
		if first > points.Rows || uint64(count) > points.Rows-first {
			return nil, nil, fmt.Errorf("step: rows %d and %d more are not in a dataset of %d", first, count, points.Rows)
		}
	}
	return s.step(ctx, counts, MaxAnswers, func(c *piece, q *pluginv1.Step) error {
		q.Points, q.Shared, q.FirstRow = points, true, first+uint64(c.offset)
		return nil
	})
}

// step asks in pieces of at most limit rows, each in a message that request completes.
func (s *Session) step(
	ctx context.Context, counts []uint32, limit int, request func(*piece, *pluginv1.Step) error,
) ([]float64, []Fault, error) {
	if s.closed || len(counts) != s.trials {
		return nil, nil, fmt.Errorf("step: %d counts for %d trials of a session (closed: %v)",
			len(counts), s.trials, s.closed)
	}
	var faults []Fault
	s.answers, s.marks = s.answers[:0], s.marks[:0]
	for c := newPiece(counts, limit); c.next(); {
		q := &pluginv1.Step{Counts: c.counts}
		if err := request(c, q); err != nil {
			return nil, nil, err
		}
		found, err := s.ask(ctx, q, c)
		if err != nil {
			return nil, nil, err
		}
		faults = append(faults, found...)
	}
	return s.answers, faults, nil
}

// ask sends one piece of a step and appends its answers.
func (s *Session) ask(ctx context.Context, q *pluginv1.Step, c *piece) ([]Fault, error) {
	const where = "answering"
	r, err := s.exchange(ctx, where, c.trials, &pluginv1.SessionRequest{Request: &pluginv1.SessionRequest_Step{Step: q}})
	if err != nil {
		return nil, err
	}
	a := r.GetAnswers()
	if a == nil {
		return nil, s.broken(where, unexpected(r, "answers"))
	}
	from, queries := len(s.answers), q.Play && !s.setting.Task.Rounds()
	if err := s.take(a, c.rows, queries); err != nil {
		return nil, s.broken(where, err)
	}
	faults, err := s.faults(a.Faults)
	if err != nil {
		return nil, s.broken(where, err)
	}
	return append(faults, s.check(s.answers[from:], c, queries)...), nil
}

// take appends the answers to that many points, and their marks if they are to queries.
func (s *replies) take(a *pluginv1.Answers, rows int, queries bool) error {
	if len(a.Values) != 8*rows {
		return fmt.Errorf("it gave %d bytes of answers where %d points need %d", len(a.Values), rows, 8*rows)
	}
	s.answers = appendFloats(s.answers, a.Values)
	if queries && len(a.Marks) != rows {
		return fmt.Errorf("it gave %d marks of %d queries", len(a.Marks), rows)
	}
	if queries {
		s.marks = append(s.marks, a.Marks...)
	}
	return nil
}

// check finds the trials of a piece with an answer out of range. play is set for queries, whose answers are labels in
// every setting.
func (s *replies) check(answers []float64, c *piece, play bool) (faults []Fault) {
	next, done, labels := 0, s.rows, play || !s.setting.Task.Rounds() && !s.setting.Means
	if play {
		done = s.queries
	}
	for j := c.from; j < c.to; j++ {
		for i, a := range answers[next : next+int(c.counts[j])] {
			if s.ended[j] || a == -1 || a == 1 || !labels && a >= -1 && a <= 1 {
				continue
			}
			var message string
			switch {
			case !(a >= -1 && a <= 1):
				message = badAnswer(a, done[j]+i)
			case play:
				message = fmt.Sprintf("the answer to query %d is %v, neither -1 nor +1", done[j]+i, a)
			default:
				message = fmt.Sprintf("answer %v to point %d is not a label: the goal asks for labels; "+
					"set goal.answers: mean, or answer the sign", a, done[j]+i)
			}
			s.ended[j] = true
			faults = append(faults, Fault{Trial: j, Kind: Answer, Message: message})
		}
		next += int(c.counts[j])
		done[j] += int(c.counts[j])
	}
	return faults
}

// badAnswer describes an answer that is not in [-1, 1].
func badAnswer(a float64, row int) string {
	if math.IsNaN(a) {
		return fmt.Sprintf("the answer in row %d is not a number, or was not filled", row)
	}
	return fmt.Sprintf("the answer in row %d is %v, outside [-1, 1]", row, a)
}

// piece is a part of a step that fits one message: some trials as a whole, or a part of a single
// one.
type piece struct {
	all   []uint32
	limit int
	trial int // the next to be asked
	given int // rows of it that earlier pieces had

	counts   []uint32 // counts of this piece
	from, to int      // the trials with points lie in from..to-1
	trials   int      // number of trials with points
	rows     int
	offset   int // rows of the single trial that earlier pieces had
}

// newPiece cuts a step into pieces of at most limit rows: call next before each.
func newPiece(counts []uint32, limit int) *piece {
	return &piece{all: counts, limit: limit, counts: make([]uint32, len(counts))}
}

// next goes to the next piece and reports whether there is one.
func (c *piece) next() bool {
	clear(c.counts[c.from:c.to])
	c.from, c.offset, c.rows, c.trials = c.trial, c.given, 0, 0
	for c.trial < len(c.all) {
		left := int(c.all[c.trial]) - c.given
		if c.rows > 0 && c.rows+left > c.limit {
			break
		}
		part := min(left, c.limit)
		c.counts[c.trial] = uint32(part)
		c.rows += part
		if part > 0 {
			c.trials++
		}
		if part < left { // a part, alone
			c.to = c.trial + 1
			c.given += part
			return true
		}
		last := c.given > 0 // the end of a trial that was cut, alone too
		c.trial, c.given = c.trial+1, 0
		if last {
			break
		}
	}
	c.to = c.trial
	return c.rows > 0
}
