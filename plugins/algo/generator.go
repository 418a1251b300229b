package algo

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// A Generator is a problem of the plugin: a distribution of targets, and of points with their
// labels. Sweep files use it by its name, "problem: {use: acme/balls, d: 5}", with its parameters,
// the fields of P: see [Algorithm].
type Generator[P any] struct {
	Name    string // "family/name": lower case letters, digits and hyphens
	Version string // version of the examples: change it whenever they change
	Doc     string // one sentence for users

	Defaults P // the values of parameters that a sweep file omits

	// Pose returns the public facts about the problem with some parameters, or an error made by
	// Invalid. It may write to the parameters to resolve defaults that depend on others.
	Pose func(params *P) (Posed, error)

	// Target draws the target of one trial, and returns a function that draws its examples. Target
	// is called again for each part of a trial's examples, with the same random numbers, so it must
	// depend on nothing else.
	Target func(params P, r *rand.Rand) (Example, error)
}

// Example draws one example: it fills x, of length Posed.Dim, with the point, and returns its
// label, -1 or +1. It depends on the target and on r only, so that examples are independent.
type Example func(r *rand.Rand, x []float64) (label float64)

// Posed holds the facts about a problem that are public: algorithms may use them.
type Posed struct {
	// Class is a class of Shatter that the problem draws points of, such as "halfspace": its
	// learners and bounds then apply. If empty, the class is the problem's own, named like it.
	Class  string
	Domain uint64 // X: coordinates are integers in 0..X-1; 0 for real numbers
	Dim    int    // coordinates of each point, at least 1

	// LeastError is the least error of the class, which goal.reference "best" requires; nil if it
	// is unknown. If it is 0, the target is in the class.
	LeastError *float64
}

func (g Generator[P]) describe() (*pluginv1.Algorithm, error) {
	if g.Pose == nil || g.Target == nil {
		return nil, fmt.Errorf("problem %q: Pose or Target is not set", g.Name)
	}
	d := &pluginv1.Algorithm{
		Name: g.Name, Version: text(g.Version), Doc: text(g.Doc), Tasks: []pluginv1.Task{pluginv1.Task_TASK_PROBLEM},
	}
	if err := describe[P](d, g.Defaults); err != nil {
		return nil, fmt.Errorf("problem %q: %w", g.Name, err)
	}
	return d, nil
}

// pose decodes and resolves the parameters of a setting.
func (g Generator[P]) pose(w *pluginv1.Setting) (params P, posed Posed, err error) {
	params = g.Defaults
	ps, err := parametersOf(reflect.TypeFor[P]())
	if err == nil {
		err = ps.set(reflect.ValueOf(&params).Elem(), w.GetParameters())
	}
	if err == nil {
		posed, err = g.Pose(&params)
	}
	if err == nil && posed.Dim < 1 {
		err = fmt.Errorf("the dimension %d of a point is below 1", posed.Dim)
	}
	return params, posed, err
}

func (g Generator[P]) check(w *pluginv1.Setting) (*pluginv1.CheckResponse, error) {
	params, posed, err := g.pose(w)
	if err != nil {
		return nil, err
	}
	ps, _ := parametersOf(reflect.TypeFor[P]()) // pose has used them
	return &pluginv1.CheckResponse{
		Parameters: ps.values(reflect.ValueOf(params)),
		Posed: &pluginv1.Posed{
			Class: text(posed.Class), Domain: posed.Domain, Dim: uint32(posed.Dim), LeastError: posed.LeastError,
		},
	}, nil
}

func (Generator[P]) bound(*pluginv1.Setting) (*pluginv1.BoundResponse, error) {
	return &pluginv1.BoundResponse{}, nil
}

func (g Generator[P]) open(*pluginv1.Setting, []uint64, *metrics) (trials, error) {
	return nil, Invalid("%s is a problem, which runs no trials", g.Name)
}

// drawing is a plugin that is a problem.
type drawing interface {
	draw(q *pluginv1.DrawRequest) (*pluginv1.DrawResponse, error)
}

// Draw serves the protocol's call.
func (s *service) Draw(ctx context.Context, q *pluginv1.DrawRequest) (*pluginv1.DrawResponse, error) {
	draw := func(p Plugin, _ *pluginv1.Setting) (*pluginv1.DrawResponse, error) {
		if g, ok := p.(drawing); ok {
			return g.draw(q)
		}
		return nil, Invalid("%s is an algorithm, which draws no examples", q.GetSetting().GetAlgorithm())
	}
	return consult(ctx, s, q.GetSetting(), draw, func(r *pluginv1.Refusal) *pluginv1.DrawResponse {
		return &pluginv1.DrawResponse{Refusal: r}
	})
}

func (g Generator[P]) draw(q *pluginv1.DrawRequest) (*pluginv1.DrawResponse, error) {
	params, posed, err := g.pose(q.GetSetting())
	if err != nil {
		return nil, err
	}
	if len(q.Targets) != 2*len(q.Counts) || len(q.Points) != 2*len(q.Counts) {
		return nil, errors.New("each draw has two words for its target, and two for its points")
	}
	rows := 0
	for _, count := range q.Counts {
		rows += int(count)
	}
	r := &pluginv1.DrawResponse{X: make([]byte, 0, 8*rows*posed.Dim), Y: make([]byte, 0, rows)}
	x := make([]float64, posed.Dim)
	for i, count := range q.Counts {
		example, err := g.Target(params, rand.New(rand.NewPCG(q.Targets[2*i], q.Targets[2*i+1])))
		if err != nil {
			return nil, err
		}
		points := rand.New(rand.NewPCG(q.Points[2*i], q.Points[2*i+1]))
		for range count {
			clear(x)
			label := example(points, x)
			if label != -1 && label != 1 {
				return nil, fmt.Errorf("the label %v of the point %v is neither -1 nor +1", label, x)
			}
			for _, v := range x {
				r.X = binary.LittleEndian.AppendUint64(r.X, math.Float64bits(v))
			}
			r.Y = append(r.Y, byte((label+1)/2))
		}
	}
	return r, nil
}
