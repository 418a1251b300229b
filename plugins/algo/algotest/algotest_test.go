package algotest

import (
	"context"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/plugins/record"
	"github.com/shatterlab/shatter/plugins/record/recordtest"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// cutter cuts a line where the labels of a sample, or of the rounds so far, change, with noise.
func cutter() algo.Algorithm[struct{}] {
	start := func(t *algo.Trial[struct{}], sample *algo.Data) *cut {
		c := &cut{at: t.Rand.Float64(), trial: t}
		for i := 0; sample != nil && i < sample.Len(); i++ {
			c.learn(sample.X(i)[0], sample.Y(i))
		}
		if t.Revealed != nil {
			c.at += float64(t.Revealed.Len())
		}
		t.Report("cut", c.at)
		return c
	}
	return algo.Algorithm[struct{}]{
		Name: "test/cut", Version: "1", Doc: "Cuts.", Metrics: map[string]string{"cut": "where it cuts"},
		Learn: func(_ context.Context, t *algo.Trial[struct{}], sample *algo.Data) (algo.Model, error) {
			return start(t, sample), nil
		},
		Predict: func(_ context.Context, t *algo.Trial[struct{}], sample *algo.Data) (algo.Answerer, error) {
			return start(t, sample), nil
		},
		Online: func(_ context.Context, t *algo.Trial[struct{}]) (algo.Learner, error) { return start(t, nil), nil },
	}
}

type cut struct {
	at    float64
	trial *algo.Trial[struct{}]
}

func (c *cut) learn(x, y float64) {
	if y < 0 && x >= c.at {
		c.at = x + c.trial.Rand.Float64()
	}
}

func (c *cut) Predict(_ context.Context, x *algo.Data, out []float64) error {
	for i := range out {
		out[i] = math.Copysign(1, x.X(i)[0]-c.at)
	}
	return nil
}

func (c *cut) Answer(_ context.Context, x []float64) (label float64, hard bool, err error) {
	return math.Copysign(1, x[0]-c.at), math.Abs(x[0]-c.at) < 40, nil
}

func (c *cut) Observe(_ context.Context, x *algo.Data, y []float64) error {
	for i, label := range y {
		c.learn(x.X(i)[0], label)
	}
	c.trial.Report("cut", c.at)
	return nil
}

func TestMain(m *testing.M) {
	if os.Getenv(pluginv1.CookieKey) == pluginv1.CookieValue {
		algo.Serve(cutter())
		return
	}
	os.Exit(m.Run())
}

// A trial that a plugin played in its own process is replayed here bit for bit, and what differs by one
// bit is found.
func TestReplay(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range recordtest.Settings() {
		s := proto.CloneOf(s)
		s.Algorithm = "test/cut"
		r, file := recordtest.Make(t, host.Command{Path: path}, s)
		Replay(t, cutter(), file)
		last := len(r.Rows) - 1
		for _, c := range []struct {
			change func(*record.Record)
			want   string
		}{
			{func(r *record.Record) { r.Rows[last].Answer *= -1 }, "row "},
			{func(r *record.Record) { r.Rows[last].Hard = !r.Rows[last].Hard }, "the query is marked as hard"},
			{func(r *record.Record) { r.Metrics["cut"] = math.Nextafter(r.Metrics["cut"], 0) }, `metric "cut" is `},
			{func(r *record.Record) { r.Seeds[1]++ }, `metric "cut" is `},
			{func(r *record.Record) { r.X[len(r.X)-1], r.Rows[last].Answer = 1000, -1 }, "x = [1000]): the answer is 1, and -1"},
			{func(r *record.Record) { r.Setting = &pluginv1.Setting{Algorithm: "test/cut"} }, "the trial fails: invalid: "},
		} {
			changed, err := record.Read(file)
			if err != nil {
				t.Fatal(err)
			}
			c.change(changed)
			problems, err := replay(t.Context(), cutter(), changed)
			if all := strings.Join(problems, "\n"); !strings.Contains(all, c.want) && err == nil {
				t.Errorf("%v: got %q, and %q is wanted", s, all, c.want)
			}
		}
	}
}

// A trial that failed is replayed until it fails no longer.
func TestReplayFault(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := recordtest.Settings()[0]
	s.Algorithm = "test/cut"
	r, _ := recordtest.Make(t, host.Command{Path: path}, s)
	r.Fault = "error: seen before"
	broken := cutter()
	broken.Learn = func(context.Context, *algo.Trial[struct{}], *algo.Data) (algo.Model, error) {
		return nil, errors.New("seen before")
	}
	for want, a := range map[string]algo.Algorithm[struct{}]{"the trial fails: error: seen before": broken, "": cutter()} {
		problems, err := replay(t.Context(), a, r)
		if got := strings.Join(problems, "\n"); got != want || err != nil {
			t.Errorf("got %q, %v; %q is wanted", got, err, want)
		}
	}
}
