package algo

import (
	"context"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// FuzzRequest checks that no sequence of requests ends the process, and that each request gets
// either a response or an error.
func FuzzRequest(f *testing.F) {
	m := &memory{}
	table := m.table(1, []float64{0, 1}, []float64{1, -1})
	step := stepRequest([]uint32{1, 1}, table)
	shared := stepRequest([]uint32{2, 1}, table)
	shared.GetStep().Shared = true
	open := openRequest(learnSetting("test/noisy", 1), []uint64{1, 2, 3, 4}, table)
	for _, q := range []*pluginv1.SessionRequest{open, step, shared, closeRequest} {
		b, err := proto.Marshal(q)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, b)
	}
	svc := serviceOf(f, noisy, m)
	f.Fuzz(func(t *testing.T, first, second []byte) {
		s := newSession(context.Background(), svc)
		for _, b := range [][]byte{first, second} {
			var q pluginv1.SessionRequest
			if proto.Unmarshal(b, &q) != nil {
				return
			}
			if r, err := s.answer(&q); (r == nil) == (err == nil) {
				t.Errorf("%v, %v", r, err)
			}
		}
	})
}

// FuzzAsk checks that any settings get answers, the same as each gets alone.
func FuzzAsk(f *testing.F) {
	for _, q := range []*pluginv1.AskRequest{
		{}, {Settings: []*pluginv1.Setting{nil, learnSetting("test/wordy", 0), learnSetting("test/wordy", 5)}},
	} {
		b, err := proto.Marshal(q)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	svc := serviceOf(f, wordy, &memory{})
	f.Fuzz(func(t *testing.T, b []byte) {
		var q pluginv1.AskRequest
		if proto.Unmarshal(b, &q) != nil {
			return
		}
		r, err := svc.Ask(t.Context(), &q)
		if err != nil || len(r.Answers) > len(q.Settings) || len(r.Answers) == 0 && len(q.Settings) > 0 {
			t.Fatalf("%d answers about %d settings, %v", len(r.GetAnswers()), len(q.Settings), err)
		}
		for i, a := range r.Answers {
			if !proto.Equal(a, unary(t, svc, q.Settings[i])) {
				t.Errorf("%v: %v", q.Settings[i], a)
			}
		}
	})
}
