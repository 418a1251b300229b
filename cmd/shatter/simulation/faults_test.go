package simulation

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/shatterlab/shatter/coordinator/lead"
)

// A fault happens once in a schedule.
type fault struct {
	Kind string
	Node string // "": the server or the user
	At   time.Duration
	For  time.Duration
	N    int // number of disk steps, for faults that count them
}

func (f fault) String() string {
	return fmt.Sprintf("%6.2fs %-6s %-2s for %5.2fs %d", f.At.Seconds(), f.Kind, f.Node, f.For.Seconds(), f.N)
}

// Kinds of faults of coordinators, of workers, of both, and of others.
var (
	ofCoordinators = []string{"power", "power", "crash", "crash", "torn", "full", "broken", "lie", "rot", "ghost"}
	ofWorkers      = []string{"slow", "broken"}
	ofEither       = []string{"kill", "leave", "cut", "hold", "hold", "stop", "lose", "double", "delay"}
	ofOthers       = []string{"server", "wipe", "pause"}
)

// schedule draws the faults of a seed, sorted by time.
func schedule(seed uint64) (list []fault) {
	rng := rand.New(rand.NewPCG(seed, 77))
	pick := func(lists ...[]string) string {
		i := 0
		for _, l := range lists {
			i += len(l)
		}
		i = rng.IntN(i)
		for _, l := range lists {
			if i < len(l) {
				return l[i]
			}
			i -= len(l)
		}
		panic("nothing to pick")
	}
	at := time.Duration(0)
	for range 1 + rng.IntN(8) {
		at += time.Duration(rng.ExpFloat64() * float64(1500*time.Millisecond))
		f := fault{At: at, For: time.Duration((0.1 + rng.ExpFloat64()*4) * float64(time.Second)), N: rng.IntN(40)}
		switch rng.IntN(10) {
		case 0, 1, 2, 3, 4, 5:
			f.Node = []string{"c0", "c1"}[rng.IntN(2)]
			f.Kind = pick(ofCoordinators, ofEither)
		case 6, 7, 8:
			f.Node = []string{"w0", "w1"}[rng.IntN(2)]
			f.Kind = pick(ofWorkers, ofEither)
		default:
			f.Kind = pick(ofOthers)
		}
		list = append(list, f)
	}
	return list
}

// apply applies a fault.
func (w *world) apply(f fault) {
	w.mu.Lock()
	over := w.over
	w.mu.Unlock()
	if over {
		return
	}
	w.note("FAULT %v", f)
	var n *node
	for _, x := range w.nodes {
		if x.name == f.Node {
			n = x
		}
	}
	switch f.Kind {
	case "kill":
		n.die(false, f.For)
	case "power":
		n.die(true, f.For)
	case "crash", "torn":
		n.mu.Lock()
		n.steps, n.crash = f.N, func() { n.die(f.Kind == "torn", f.For) }
		n.mu.Unlock()
	case "rot":
		n.rot(f.For)
	case "leave":
		n.leave(f.For)
	case "cut":
		w.cut(func(c *conn) bool { return c.process.node == n })
	case "server", "wipe":
		w.stopServer()
		time.AfterFunc(f.For, func() {
			w.startServer(f.Kind == "wipe")
			if f.Kind == "wipe" {
				w.wiped <- struct{}{}
			}
		})
	case "pause":
		w.desired <- lead.Pause
		time.AfterFunc(f.For, func() { w.desired <- lead.Run })
	default:
		switch {
		case f.Kind == "ghost":
			f.For += lease // long enough to ship something
		case f.Kind == "stop" && f.N%2 == 0:
			f.For += lease
		}
		n.mu.Lock()
		n.windows = append(n.windows, window{f, time.Now().Add(f.For)})
		n.mu.Unlock()
	}
}
