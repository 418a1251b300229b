package host

import (
	"context"
	"fmt"

	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// maxDrawn is the number of float64s of the examples in one message.
const maxDrawn = 1 << 20

// Draw draws examples of a problem that the plugin serves. setting holds the problem's name and
// resolved parameters. After an *ExitError the process has ended; any other error is that of the
// problem's author.
func (p *Process) Draw(ctx context.Context, setting *pluginv1.Setting, draws []problem.Draw) error {
	var parts []problem.Draw
	for _, d := range draws {
		dim := len(d.X) / max(1, len(d.Y))
		for len(d.Y) > 0 {
			n := min(len(d.Y), max(1, maxDrawn/dim))
			parts = append(parts, problem.Draw{Target: d.Target, Points: d.Points, X: d.X[:n*dim], Y: d.Y[:n]})
			// Each part has random numbers of its own, so that no part needs the parts before it. Callers may count
			// in the other word.
			d.Points[0]++
			d.X, d.Y = d.X[n*dim:], d.Y[n:]
		}
	}
	for len(parts) > 0 {
		count, size := 1, len(parts[0].X)
		for count < len(parts) && size+len(parts[count].X) <= maxDrawn {
			size += len(parts[count].X)
			count++
		}
		if err := p.drawTogether(ctx, setting, parts[:count]); err != nil {
			return err
		}
		parts = parts[count:]
	}
	return nil
}

// drawTogether makes the draws of one message.
func (p *Process) drawTogether(ctx context.Context, setting *pluginv1.Setting, draws []problem.Draw) error {
	const where = "drawing examples"
	q := &pluginv1.DrawRequest{Setting: setting}
	for _, d := range draws {
		q.Targets, q.Points = append(q.Targets, d.Target[:]...), append(q.Points, d.Points[:]...)
		q.Counts = append(q.Counts, uint32(len(d.Y)))
	}
	var refusal *pluginv1.Refusal
	err := p.call(ctx, where, p.child.command.questionTime(len(draws)), func(ctx context.Context) error {
		r, err := p.rpc.Draw(ctx, q)
		if refusal = r.GetRefusal(); err != nil || refusal != nil {
			return err
		}
		return unpackExamples(r, draws)
	})
	if err == nil && refusal != nil {
		message := limited(refusal.GetMessage())
		return fmt.Errorf("problem %s: %s%s", setting.Algorithm, message, p.child.command.hint(message))
	}
	return err
}

func unpackExamples(r *pluginv1.DrawResponse, draws []problem.Draw) error {
	numbers, labels := 0, 0
	for _, d := range draws {
		numbers, labels = numbers+len(d.X), labels+len(d.Y)
	}
	if len(r.X) != 8*numbers || len(r.Y) != labels {
		return fmt.Errorf("it gave %d bytes of points and %d bytes of labels; %d and %d are needed",
			len(r.X), len(r.Y), 8*numbers, labels)
	}
	x, y := r.X, r.Y
	for _, d := range draws {
		for _, v := range appendFloats(d.X[:0], x[:8*len(d.X)]) {
			if !trial.Finite(v) {
				return fmt.Errorf("a coordinate of its points is %v", v)
			}
		}
		for i, b := range y[:len(d.Y)] {
			if b > 1 {
				return fmt.Errorf("it encoded a label as %d: use 0 for -1, and 1 for +1", b)
			}
			d.Y[i] = 2*float64(b) - 1
		}
		x, y = x[8*len(d.X):], y[len(d.Y):]
	}
	return nil
}
