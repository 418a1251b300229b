package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/shatterlab/shatter/coordinator"
)

// A question is asked when half of the predicted time left is long, after the first seconds
// and within the first minutes, and once.
func TestQuestion(t *testing.T) {
	t.Parallel()
	const minute = 60.0
	hours := &coordinator.Left{Seconds: 90 * minute, Counted: 9000}
	perhaps := &coordinator.Left{Seconds: 19 * minute}
	for _, tt := range []struct {
		name    string
		elapsed []time.Duration
		left    *coordinator.Left
		asks    bool
	}{
		{"nothing is known", []time.Duration{15 * time.Second, time.Hour}, nil, false},
		{"too early", []time.Duration{time.Second, 9 * time.Second}, hours, false},
		{"long", []time.Duration{time.Second, 10 * time.Second, 11 * time.Second}, hours, true},
		{"perhaps long", []time.Duration{10 * time.Second, time.Minute}, perhaps, false},
		{"not the first look", []time.Duration{100 * time.Second}, hours, true},
	} {
		var said bytes.Buffer
		d := &display{w: &said, mode: "plain"}
		q := &question{what: "the rest of this sweep", hint: "a hint"}
		for _, at := range tt.elapsed {
			q.consider(d, coordinator.Progress{Elapsed: at, Left: tt.left, Slots: 2})
		}
		const want = "shatter: warning: the rest of this sweep takes about 1h30m, within a factor of two, on 2 workers " +
			"(9,000 trials); a hint\n"
		if got := said.String(); tt.asks && got != want || !tt.asks && got != "" {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
	late := &question{}
	late.consider(&display{}, coordinator.Progress{Elapsed: 3 * time.Minute, Left: perhaps})
	var said bytes.Buffer
	late.consider(&display{w: &said, mode: "plain"}, coordinator.Progress{Elapsed: 4 * time.Minute, Left: hours})
	if said.Len() > 0 {
		t.Errorf("work that did not look long for three minutes is asked about: %q", &said)
	}
}
