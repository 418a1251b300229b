package host

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

// A process that is debugged waits for the person before anything is asked of it, and no limit holds.
func TestDebug(t *testing.T) {
	c := self("plugin")
	refused, waits := errors.New("nobody is there"), 0
	c.Trial, c.Memory = time.Nanosecond, 1
	c.Debug = func(pid int) error {
		if waits++; pid < 2 {
			t.Errorf("process %d waits", pid)
		}
		return nil
	}
	p, err := Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	if got := p.child.command; got.Trial != debugTime || got.Memory != debugMemory || len(p.Sandbox()) > 0 || waits != 1 {
		t.Errorf("limits %v and %d, sandbox %v, %d waits", got.Trial, got.Memory, p.Sandbox(), waits)
	}
	c.Debug = func(int) error { return refused }
	if _, err := Start(t.Context(), c); !errors.Is(err, refused) {
		t.Errorf("the error of a wait is %v", err)
	}
}

// A line that a plugin prints bears the name of the trial, as well as that is known, and the reason of
// a failure quotes it without.
func TestOutputNamesTrial(t *testing.T) {
	for _, c := range []struct {
		trials int
		want   string
	}{
		{1, "[trial 0] giving up\n"},
		{4, "[trial 0 to trial 3] giving up\n"},
	} {
		log := new(testkit.Log)
		command := self("plugin")
		command.Output = log
		p := start(t, command)
		r := request("test/behaving", c.trials, 3, 1, map[string]any{"do": "exit", "at": 0})
		r.Name = func(j int) string { return fmt.Sprintf("trial %d", j) }
		_, _, err := p.Open(t.Context(), r, numbered(c.trials))
		var exit *ExitError
		if !errors.As(err, &exit) || exit.Stderr != "giving up" {
			t.Fatalf("the process ended with %v", err)
		}
		<-p.Done()
		if got := log.String(); !strings.Contains(got, c.want) || !strings.Contains(got, "giving up\n") {
			t.Errorf("%d trials: the output is %q", c.trials, got)
		}
	}
}
