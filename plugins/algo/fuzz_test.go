package algo

import (
	"context"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// FuzzRequest checks that no request, in any order, ends the process, and that each gets either a
// response or an error.
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
