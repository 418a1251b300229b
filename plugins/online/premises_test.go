package online

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/trial"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/host"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// contend returns the setting of a contender before the problem is known.
func contend(text string, rounds int) *pluginv1.Setting {
	words := strings.Fields(text)
	params := trial.Params{}
	for _, w := range words[1:] {
		name, value, _ := strings.Cut(w, "=")
		params[name] = value
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			params[name] = v
		} else if value == "true" {
			params[name] = true
		}
	}
	return &pluginv1.Setting{
		Algorithm: words[0], Task: pluginv1.Task_TASK_ONLINE, Parameters: trial.Values(params), Rounds: int64(rounds),
		Alpha: 0.1, Beta: 0.1,
	}
}

// serve returns a process that serves the algorithms of this package: it runs this test binary
// again, so the caller must not do anything before.
func serve(t *testing.T) *host.Process {
	t.Helper()
	if os.Getenv(pluginv1.CookieKey) == pluginv1.CookieValue {
		algo.Serve(Plugins()...)
		t.SkipNow()
	}
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := host.Start(t.Context(), host.Command{Path: path, Args: []string{"-test.run", "^" + t.Name() + "$"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}

// Each bound has the premises that its proof needs.
func TestPremises(t *testing.T) {
	p := serve(t)
	for _, c := range []struct {
		contender, class string
		want             string // the premises of each bound
	}{
		{"online/soa", "points", "ldim [target-in-class]"},
		{"online/halving", "points", "halvings [target-in-class] halving-printed [target-in-class]"},
		{"online/follow-the-leader", "points", "one-mistake-each [target-in-class] turns []"},
		{"online/agnostic-experts", "points", "agnostic []"},
		{"online/hedge tuning=small-loss", "points", "worst-case [] small-loss []"},
		{"online/ftpl-gaussian", "points", "explicit [unseen-answer] theorem-1 [unseen-answer]"},
		{"online/ftpl-gaussian noise=once", "points", "explicit [fixed-beforehand] theorem-1 [fixed-beforehand]"},
		{"online/ftpl-gaussian noise=once schedule=paper", "points",
			"explicit [fixed-beforehand] theorem-1 [fixed-beforehand] theorem-1-display [fixed-beforehand]"},
		{"online/ftpl-gaussian separator=cube exact=true", "parities", "explicit [] theorem-1 []"},
		{"online/ftpl-iid exact=true", "points", "explicit []"},
		{"online/ftpl-iid schedule=doubling", "points", "explicit [unseen-answer] +Inf"},
		{"online/ftpl-iid schedule=self-confident noise=once", "points", "explicit [fixed-beforehand] +Inf"},
		{"online/ftpl-uniform noise=once", "points", "explicit [fixed-beforehand] dudik-2020 [fixed-beforehand]"},
		{"online/ftpl-laplace", "points", "explicit [unseen-answer] syrgkanis-2016 [unseen-answer]"},
		{"online/ftpl-approximable", "points", "explicit [unseen-answer] approximable [unseen-answer]"},
		{"online/ftpl-real loss=absolute", "points", "theorem-1 [unseen-answer] explicit [unseen-answer]"},
		{"online/ftpl-iid noise=once", "matrix", "single []"},
	} {
		s := contend(c.contender, 10)
		s.Problem = &pluginv1.Problem{Class: c.class, Domain: 4, Dim: 1}
		switch c.class {
		case "parities":
			s.Problem.Domain, s.Problem.Dim = 0, 3
		case "matrix":
			s.Problem.Matrix = "0110"
		}
		r, err := p.Bound(t.Context(), s)
		if err != nil || r.Refusal != nil {
			t.Fatal(c.contender, r, err)
		}
		var words []string
		for _, b := range r.Bounds {
			words = append(words, b.Name, fmt.Sprint(b.Premises))
			if math.IsInf(b.Value, 1) {
				words = append(words, "+Inf")
			}
		}
		if got := strings.Join(words, " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.contender, got, c.want)
		}
	}
}
