package algo

import (
	"context"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// wordy has long bounds, and rejects a scale below 1.
var wordy = Algorithm[noise]{
	Name: "test/wordy", Version: "1", Defaults: noise{Scale: 1}, Learn: noisy.Learn,
	Check: func(s *Setting[noise]) error {
		if s.Params.Scale < 1 {
			return Invalid("scale %v", s.Params.Scale)
		}
		return nil
	},
	Guarantee: func(s *Setting[noise]) (Guarantee, error) {
		return Guarantee{Pure: true, Epsilon: s.Epsilon, Source: "test"}, nil
	},
	Bound: func(s *Setting[noise]) (list []Bound, err error) {
		for range 10 {
			list = append(list, Bound{
				Name: "long", Source: strings.Repeat("x", 4000), Value: math.Inf(1), With: map[string]float64{"delta": s.Delta},
			})
		}
		return list, nil
	},
}

// unary returns the results of Check and Bound for a setting.
func unary(t *testing.T, svc *service, w *pluginv1.Setting) *pluginv1.Answer {
	t.Helper()
	a := &pluginv1.Answer{}
	var err error
	if a.Check, err = svc.Check(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	if b := pluginv1.BoundSetting(w, a.Check); b != nil {
		if a.Bound, err = svc.Bound(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// Answers stay below the limit of a message; omitted ones are requested again.
func TestAsk(t *testing.T) {
	svc := serviceOf(t, wordy, &memory{})
	var settings []*pluginv1.Setting
	for i := range 64 {
		w := learnSetting("test/wordy", 0)
		w.Alpha, w.Epsilon, w.Delta, w.N = 0.1, 1, 0.25, int64(i%4/3)
		w.Parameters = map[string]*pluginv1.Value{
			"scale": {Kind: &pluginv1.Value_Float{Float: float64(i % 5)}},
		}
		settings = append(settings, w)
	}
	messages := 0
	for left := settings; len(left) > 0; messages++ {
		r, err := svc.Ask(t.Context(), &pluginv1.AskRequest{Settings: left})
		if err != nil || len(r.Answers) == 0 || proto.Size(r) > 1<<20 {
			t.Fatalf("%d answers of %d bytes, %v", len(r.GetAnswers()), proto.Size(r), err)
		}
		for i, a := range r.Answers {
			if !proto.Equal(a, unary(t, svc, left[i])) {
				t.Errorf("%v: %v", left[i], a)
			}
			if (a.Bound == nil) != (a.Check.Refusal != nil || left[i].N > 0) {
				t.Errorf("%v: bounds %v", left[i], a.Bound)
			}
			if len(a.GetBound().GetBounds()) > 0 && a.Bound.Bounds[0].With["delta"] != 0 {
				t.Error("the guarantee is pure, and bounds are asked for with a delta")
			}
		}
		left = left[len(r.Answers):]
	}
	if messages < 2 {
		t.Errorf("%d messages", messages)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	svc.turn <- struct{}{} // another call uses the algorithms
	if r, err := svc.Ask(ctx, &pluginv1.AskRequest{Settings: settings}); err == nil {
		t.Errorf("%v after the end of the call", r)
	}
}
