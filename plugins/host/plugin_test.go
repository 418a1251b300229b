package host

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// roleVariable makes this test binary something else than a test: a plugin of some kind, or a host.
const roleVariable = "SHATTER_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		roles[role]()
		return
	}
	testkit.Overlap()
	goleak.VerifyTestMain(m)
}

var roles = map[string]func(){
	"plugin": func() { algo.Serve(behaving, quiet, queried, remembering) },
	"print":  func() { fmt.Println("loading model ..."); algo.Serve(quiet) },
	"invalid": func() {
		algo.Serve(algo.Algorithm[struct{ Rounds []int }]{Name: "a/b", Version: "1", Learn: learnQuiet})
	},
	"exit": func() {
		fmt.Fprintln(os.Stderr, "no license found")
		os.Exit(7)
	},
	"newer":   func() { fmt.Println("1|2|unix|/nowhere|grpc"); select {} },
	"older":   func() { fmt.Println("1|0|unix|/nowhere|grpc"); select {} },
	"core":    func() { fmt.Println("2|1|unix|/nowhere|grpc"); select {} },
	"tcp":     func() { fmt.Println("1|1|tcp|127.0.0.1:1|grpc"); select {} },
	"afar":    func() { fmt.Println("1|1|unix|/run/dbus/system_bus_socket|grpc"); select {} },
	"nowhere": func() { fmt.Println("1|1|unix|@abstract|grpc"); select {} },
	"netrpc":  func() { fmt.Println("1|1|unix|/nowhere|netrpc"); select {} },
	"tls":     func() { fmt.Println("1|1|unix|/nowhere|grpc|" + strings.Repeat("A", 100)); select {} },
	"silent":  func() { select {} },
	"long":    func() { fmt.Print(strings.Repeat("x", 1<<20)); select {} },
	"stopped": func() { stopSelf(); select {} },
	"deaf": func() {
		signal.Ignore(syscall.SIGTERM)
		algo.Serve(behaving)
	},
	"host": actAsHost,
	"raw":  func() { serveRaw(rawPlugin{kind: os.Getenv("RAW")}) },
}

func stopSelf() { _ = syscall.Kill(os.Getpid(), syscall.SIGSTOP) }

type quietParams struct{}

func learnQuiet(context.Context, *algo.Trial[struct{ Rounds []int }], *algo.Data) (algo.Model, error) {
	return nil, nil
}

// quiet learns nothing: its answers are 0, and it allocates nothing.
var quiet = algo.Algorithm[quietParams]{
	Name: "test/quiet", Version: "1", Doc: "Answers 0.",
	Learn:  func(context.Context, *algo.Trial[quietParams], *algo.Data) (algo.Model, error) { return zero{}, nil },
	Online: func(context.Context, *algo.Trial[quietParams]) (algo.Learner, error) { return zero{}, nil },
}

type zero struct{}

func (zero) Predict(_ context.Context, _ *algo.Data, out []float64) error {
	clear(out)
	return nil
}

func (zero) Observe(context.Context, *algo.Data, []float64) error { return nil }

// behaviour selects a fault and its trial, whose first example is At.
type behaviour struct {
	Do    string
	At    int
	Phase string `choices:"learn,predict"`
}

// behaving answers a point x with x plus the mean label of its sample, and has the fault that its parameters select.
var behaving = algo.Algorithm[behaviour]{
	Name: "test/behaving", Version: "1", Doc: "Behaves as it is told.",
	Defaults: behaviour{At: -1, Phase: "learn"},
	Metrics:  map[string]string{"first": "the first number of the sample", "noise": "a random number"},
	Learn: func(ctx context.Context, t *algo.Trial[behaviour], sample *algo.Data) (algo.Model, error) {
		first := sample.X(0)[0]
		m := &mean{ctx: ctx, do: t.Params, bad: int(first) == t.Params.At}
		for _, y := range sample.Ys() {
			m.value += y / float64(sample.Len())
		}
		t.Report("first", first)
		if first != 3 { // trial 3 reports one metric only
			t.Report("noise", t.Rand.Float64())
		}
		if m.bad && t.Params.Phase == "learn" {
			return m, misbehave(t, sample)
		}
		return m, nil
	},
	Check: func(s *algo.Setting[behaviour]) error {
		switch s.Params.Do {
		case "invalid":
			return algo.Invalid("do not do that")
		case "infeasible":
			return algo.Infeasible("n = %d is not enough", s.N)
		case "check panics":
			panic("check")
		case "check hangs":
			select {}
		}
		return nil
	},
	Bound: func(s *algo.Setting[behaviour]) ([]algo.Bound, error) {
		return []algo.Bound{{Name: "b", Source: "s", Value: math.Inf(1), With: map[string]float64{"v": 1}}}, nil
	},
}

type mean struct {
	ctx   context.Context
	do    behaviour
	bad   bool
	value float64
}

func (m *mean) Predict(_ context.Context, x *algo.Data, out []float64) error {
	for i := range out {
		out[i] = (x.X(i)[0] + m.value) / 1e6
	}
	if !m.bad || m.do.Phase != "predict" {
		return nil
	}
	switch m.do.Do {
	case "nan":
		out[1] = math.NaN()
		return nil
	case "outside":
		out[0] = 1.5
		return nil
	}
	return misbehave(nil, x)
}

var sink [][]byte

func misbehave(t *algo.Trial[behaviour], d *algo.Data) error {
	var do string
	if t != nil {
		do = t.Params.Do
	} else {
		do = "panic"
	}
	switch do {
	case "error":
		return errors.New("no convergence")
	case "panic":
		panic("out of luck")
	case "write":
		d.X(0)[0] = 1
	case "exit":
		fmt.Fprintln(os.Stderr, "giving up")
		os.Exit(3)
	case "crash":
		go func() { panic("in the background") }()
		select {}
	case "hang":
		select {}
	case "busy":
		for i := 0; ; i++ {
			if i < 0 {
				break
			}
		}
	case "stop":
		stopSelf()
		select {}
	case "memory":
		for {
			b := make([]byte, 1<<20)
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			sink = append(sink, b)
		}
	case "stdout":
		fmt.Println("a print of the author")
		os.Stdout.WriteString(strings.Repeat("x", 1<<20)) // no newline
		_, _ = syscall.Write(1, []byte(strings.Repeat("y", 1<<20)))
	case "flood":
		line := []byte(strings.Repeat("z", 99) + "\n")
		for range 1 << 16 {
			os.Stderr.Write(line)
		}
		os.Exit(4)
	case "grandchild":
		child := exec.Command("sleep", os.Getenv("MARK"))
		child.Stderr = os.Stderr // holds the pipe open
		if err := child.Start(); err != nil {
			return err
		}
		os.Exit(5)
	case "metric":
		t.Report("first", math.Inf(1))
	case "unknown metric":
		t.Report("second", 1)
	case "slow":
		time.Sleep(1500 * time.Millisecond)
	}
	return nil
}

// self returns the command that starts this binary in a role.
func self(role string, env ...string) Command {
	return Command{Path: testBinary(), Env: append(env, roleVariable+"="+role)}
}

// readingItself returns the command of the plugin, with a sandbox in which others of its catalog may
// execute this binary.
func readingItself() Command {
	c := self("plugin")
	c.Sandbox.Read = []string{testBinary()}
	return c
}

func testBinary() string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return path
}

// start starts a process and stops it at the end of the test.
func start(t testing.TB, c Command) *Process {
	t.Helper()
	p, err := Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}

// request asks for a session of trials with samples of n points in dimension dim.
func request(algorithm string, trials, n, dim int, parameters map[string]any) OpenRequest {
	s := &pluginv1.Setting{
		Algorithm: algorithm, Task: pluginv1.Task_TASK_LEARN, Parameters: make(map[string]*pluginv1.Value),
		Problem: &pluginv1.Problem{Class: "halfspace", Dim: uint32(dim)}, N: int64(n), Alpha: 0.1, Beta: 0.1,
		Means: true,
	}
	for name, v := range parameters {
		switch v := v.(type) {
		case string:
			s.Parameters[name] = &pluginv1.Value{Kind: &pluginv1.Value_String_{String_: v}}
		case int:
			s.Parameters[name] = &pluginv1.Value{Kind: &pluginv1.Value_Int{Int: int64(v)}}
		}
	}
	r := OpenRequest{Setting: s, Seeds: make([]uint64, 2*trials)}
	for i := range r.Seeds {
		r.Seeds[i] = uint64(i)
	}
	return r
}

// numbered fills the samples so that trial j's points begin with j and its labels are all +1 or all
// -1.
func numbered(trials int) func(x, y []float64) {
	return func(x, y []float64) {
		n := len(y) / trials
		dim := len(x) / len(y)
		for i := range y {
			j := i / n
			for k := range dim {
				x[i*dim+k] = float64(j)
			}
			y[i] = 1 - 2*float64(j%2)
		}
	}
}
