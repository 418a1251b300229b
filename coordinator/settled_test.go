package coordinator

import (
	"testing"
	"time"

	"github.com/shatterlab/shatter/coordinator/folder"
	"github.com/shatterlab/shatter/pipeline/bus"
	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// A check of what a worker has sent that is gone by now goes to the only one that is left, and nobody
// waits for a check of the only worker.
func TestOnlyWorkerLeft(t *testing.T) {
	server, err := bus.Embed(bus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Shutdown()
	conn, err := server.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for suspect, want := range map[string]struct {
		settled bool
		sent    int
	}{"gone": {false, 1}, "left": {true, 0}} {
		t.Run(suspect, func(t *testing.T) {
			c := Config{Conn: conn, Digests: madeBy("one"), CheckShare: 1}
			c.Folder = claim(t, t.TempDir(), testPlan(t), folder.Mode{})
			defer c.Folder.Close()
			r, err := newRun(c)
			if err != nil {
				t.Fatal(err)
			}
			if r.crew.queue, err = conn.Coordinate(t.Context(), r.crew.lead); err != nil {
				t.Fatal(err)
			}
			defer r.crew.queue.Close(t.Context())
			w := fleet.Worker{Name: "left", Slots: 1, Profile: trial.FloatProfile(), Plugins: []string{"one"}}
			said, err := w.Encode()
			if err != nil {
				t.Fatal(err)
			}
			r.crew.hear(bus.Announcement{Worker: w.Name, Data: said}, time.Now().Add(-gathering))
			r.checks.ask(r.checks.newCheck(r.grid.cells[0], 8, []int64{0}), suspect)
			if got := r.checks.settled(); got != want.settled {
				t.Errorf("settled is %v, want %v", got, want.settled)
			}
			if err := r.checks.send(t.Context()); err != nil || len(r.checks.out) != want.sent {
				t.Errorf("%d checks were sent (%v), want %d", len(r.checks.out), err, want.sent)
			}
		})
	}
}
