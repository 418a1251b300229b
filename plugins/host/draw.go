package host

import (
	"context"
	"fmt"

	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// maxDrawn is the number of float64s of the examples in one message.
const maxDrawn = 1 << 20

// Draw draws examples of one trial of a problem that the plugin serves: len(y) points into x,
// row-major, and their labels, -1 or +1, into y. setting holds the problem's name and resolved
// parameters. The target is a function of the first pair of words, and the examples of both pairs.
// After an *ExitError the process has ended; any other error is that of the problem's author.
func (p *Process) Draw(ctx context.Context, setting *pluginv1.Setting, target, points [2]uint64, x, y []float64) error {
	dim := len(x) / max(1, len(y))
	for part := uint64(0); len(y) > 0; part++ {
		n := min(len(y), max(1, maxDrawn/dim))
		// Each part has random numbers of its own, so that no part needs the parts before it. Callers may count in
		// the other word.
		q := &pluginv1.DrawRequest{
			Setting: setting, Targets: target[:], Points: []uint64{points[0] + part, points[1]}, Counts: []uint32{uint32(n)},
		}
		if err := p.drawPart(ctx, q, x[:n*dim], y[:n]); err != nil {
			return err
		}
		x, y = x[n*dim:], y[n:]
	}
	return nil
}

// drawPart draws the examples of one message.
func (p *Process) drawPart(ctx context.Context, q *pluginv1.DrawRequest, x, y []float64) error {
	const where = "drawing examples"
	var refusal *pluginv1.Refusal
	err := p.call(ctx, where, p.child.command.questionTime(1), func(ctx context.Context) error {
		r, err := p.rpc.Draw(ctx, q)
		if refusal = r.GetRefusal(); err != nil || refusal != nil {
			return err
		}
		return unpackExamples(r, x, y)
	})
	if err == nil && refusal != nil {
		message := limited(refusal.GetMessage())
		return fmt.Errorf("problem %s: %s%s", q.Setting.Algorithm, message, p.child.command.hint(message))
	}
	return err
}

func unpackExamples(r *pluginv1.DrawResponse, x, y []float64) error {
	if len(r.X) != 8*len(x) || len(r.Y) != len(y) {
		return fmt.Errorf("it gave %d bytes of points and %d bytes of labels; %d and %d are needed",
			len(r.X), len(r.Y), 8*len(x), len(y))
	}
	for _, v := range appendFloats(x[:0], r.X) {
		if !trial.Finite(v) {
			return fmt.Errorf("a coordinate of its points is %v", v)
		}
	}
	for i, b := range r.Y {
		if b > 1 {
			return fmt.Errorf("it encoded a label as %d: use 0 for -1, and 1 for +1", b)
		}
		y[i] = 2*float64(b) - 1
	}
	return nil
}
