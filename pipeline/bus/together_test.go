package bus

import (
	"errors"
	"fmt"
	"strconv"
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

// As many results travel together as one message has room for. One that is too large has an error, and those
// before it are stored.
func TestTogetherFits(t *testing.T) {
	everywhere(t, func(t *testing.T, dial func(Options) *Conn) {
		worker := dial(Options{})
		q := coordinate(t, dial(Options{}), "sweep", 1)
		half, whole := make([]byte, MaxResult/2), make([]byte, MaxResult)
		results := resultsNamed(numbers("j", MostTogether+5)...)
		results[2].Data, results[3].Data, results[4].Data, results[5].Data = half, half, whole, whole
		n, err := worker.PublishAll(soon(t), q.lead, results)
		if n != len(results) || err != nil {
			t.Errorf("%d results stored, %v", n, err)
		}
		leaves(t, q, 5) // 0 to 2, 3, 4, 5, and the others
		for _, want := range results {
			m := next(t, q)
			if m.Part != want.Part || len(m.Data) != len(want.Data) {
				t.Errorf("%d bytes of %+v, want %d of %+v", len(m.Data), m.Part, len(want.Data), want.Part)
			}
			must(t, m.Ack())
		}
		results[7].Data = make([]byte, MaxResult+1)
		var size *SizeError
		if n, err := worker.PublishAll(soon(t), q.lead, results); n != 7 || !errors.As(err, &size) {
			t.Errorf("%d results stored, %v", n, err)
		}
		if n, err := worker.PublishAll(soon(t), q.lead, resultsNamed("a", "b c")); n != 0 || err == nil {
			t.Errorf("%d results stored, %v", n, err)
		}
	})
}

// A message that is not as PublishAll makes it is passed on as what answers no job, and can be acknowledged.
func TestNotTogether(t *testing.T) {
	conn := embedded(t, Options{})
	q := coordinate(t, conn, "sweep", 1)
	sound := pack(resultsNamed("a", "b"))
	for subject, data := range map[string][]byte{
		"w.a.3": sound, "w.a.1": sound, "w.b.2": sound, "w.a.2": sound[:len(sound)-1], "w.a.x": sound,
		"w.c.2":                               pack([]Result{{Part{"w", "c", 0, 1}, nil}, {Part{"w", "d", 1, 1}, nil}}),
		"w.a." + strconv.Itoa(MostTogether+1): sound, "w.c": nil,
	} {
		must(t, conn.store(soon(t), "publish", fmt.Sprint(resultSubject, q.lead, ".", subject), data))
		m := next(t, q)
		if diff := cmp.Diff(Part{}, m.Part); diff != "" || len(m.Data) != len(data) {
			t.Errorf("%s: %s", subject, diff)
		}
		must(t, m.Ack())
	}
	leaves(t, q, 0)
}

// Leaders that do not know of results that travel together do not say that they take them.
func TestTogetherIsSaid(t *testing.T) {
	conn := embedded(t, Options{})
	q, in := coordinate(t, conn, "sweep", 1), listen(t, conn, "w")
	send(t, q, "w", "a")
	if j := receive(t, in.Jobs); !j.Together {
		t.Error("the leader does not say that it takes them")
	}
	m := order(jobSubject+"w.sweep.1.b", nil)
	m.Header.Set(orderHeader, "1")
	must(t, conn.nc.PublishMsg(m))
	if j := receive(t, in.Jobs); j.ID != "b" || j.Together {
		t.Errorf("%+v", j)
	}
}
