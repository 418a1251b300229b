package bus

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// resultsNamed returns results of jobs, each with its ID as its content.
func resultsNamed(ids ...string) (results []Result) {
	for i, id := range ids {
		results = append(results, Result{Part{"w", id, i % 2, 2}, []byte(id)})
	}
	return results
}

// Results that travel together come one by one, as they were. The server has them until the last of them
// is acknowledged, and another leader gets all of them otherwise.
func TestTogether(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, dial func(Options) *Conn) {
		worker := dial(Options{})
		q := coordinate(t, dial(Options{}), "sweep", 1)
		sent := resultsNamed(numbers("j", 5)...)
		for range 2 {
			if n, err := worker.PublishAll(soon(t), q.lead, sent); n != len(sent) || err != nil {
				t.Fatalf("%d results stored, %v", n, err)
			}
		}
		leaves(t, q, 2)
		var got []Result
		_, last, err := q.Unread(soon(t))
		must(t, err)
		for i := range 2 * len(sent) {
			m := next(t, q)
			got = append(got, Result{m.Part, m.Data})
			if want := last - 2 + uint64((i+1)/len(sent)); m.Sequence() != want {
				t.Errorf("result %d has the number %d, want %d", i, m.Sequence(), want)
			}
			if i != 7 {
				must(t, m.Ack())
			}
		}
		if diff := cmp.Diff(append(sent, sent...), got); diff != "" {
			t.Error(diff)
		}
		leaves(t, q, 1)
		q.end()
		q = coordinate(t, dial(Options{}), "sweep", 2)
		for _, want := range sent {
			m := next(t, q)
			if diff := cmp.Diff(want, Result{m.Part, m.Data}); diff != "" || m.Epoch != 1 {
				t.Errorf("%s, epoch %d", diff, m.Epoch)
			}
			must(t, m.Ack())
		}
		leaves(t, q, 0)
	})
}
