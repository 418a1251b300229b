package host

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

// A printed line begins with the name of the trial, as far as it is known; the reason of a failure quotes the line
// without the name.
func TestOutputNamesTrial(t *testing.T) {
	t.Parallel()
	testkit.Serial(t)
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

// A line keeps the name at the time when it was printed, however soon another name follows.
func TestNamesAreExact(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	log := new(testkit.Log)
	lines := &tail{further: log, source: r}
	done := make(chan struct{})
	go func() {
		lines.read(r)
		close(done)
	}()
	var want strings.Builder
	for i := range 100 {
		lines.name(func() string { return fmt.Sprintf("[%d] ", i) })
		fmt.Fprintf(w, "a %d\nb %d\n", i, i)
		fmt.Fprintf(&want, "[%d] a %d\n[%d] b %d\n", i, i, i, i)
	}
	w.Close()
	<-done
	r.Close()
	if log.String() != want.String() {
		t.Errorf("the output is\n%s", log)
	}
}
