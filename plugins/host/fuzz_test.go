package host

import (
	"bufio"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// checkHandshake handles any line, and go-plugin can use each line that it accepts.
func FuzzHandshake(f *testing.F) {
	for _, line := range []string{
		"1|1|unix|/tmp/x|grpc", "1|1|unix|/tmp/x|grpc|", "1|2|tcp|x", "", "|||||", "hello",
		"1|1|unix|/x|grpc|" + strings.Repeat("A", 60),
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		_, reason := checkHandshake(line)
		parts := strings.Split(line, "|")
		good := len(parts) >= 5 && parts[2] == "unix" && parts[4] == "grpc" && (len(parts) == 5 || parts[5] == "")
		if reason == "" && !good || len(reason) > 2000+2*len(line) {
			t.Errorf("%q: %q", line, reason)
		}
	})
}

// What listens at a socket that a person attaches may send anything: one line passes, of a bounded length.
func FuzzAttached(f *testing.F) {
	for _, sent := range []string{
		"1|1|unix|/tmp/x|grpc\n", "1|1|unix|/tmp/x|grpc\n\x00\x01", "1|1|unix|/tmp/x|grpc", "\n", "", "\x1b[2J\n",
		strings.Repeat("x", longestHandshake-1) + "\n", strings.Repeat("x", longestHandshake) + "\n",
	} {
		f.Add(sent)
	}
	f.Fuzz(func(t *testing.T, sent string) {
		var out strings.Builder
		err := passHandshake(bufio.NewReaderSize(strings.NewReader(sent), longestHandshake), &out)
		line, _, whole := strings.Cut(sent, "\n")
		if passed := whole && len(line) < longestHandshake; passed != (err == nil) || passed && out.String() != line+"\n" ||
			!passed && out.Len() > 0 {
			t.Errorf("%q: %q, %v", sent, out.String(), err)
		}
	})
}

// Any response of a plugin yields faults and metrics of the session's trials, or an error.
func FuzzResponse(f *testing.F) {
	for _, m := range []*pluginv1.Closed{
		{}, {Metrics: map[string][]byte{"m": make([]byte, 24)}}, {Metrics: map[string][]byte{"m": make([]byte, 23), "": nil}},
		{Faults: []*pluginv1.Fault{
			{Trial: 2, Kind: pluginv1.Fault_KIND_PANIC, Message: "x"}, {Trial: 1, Kind: 2}, {Trial: 2, Kind: 1},
		}},
	} {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var m pluginv1.Closed
		if proto.Unmarshal(b, &m) != nil {
			return
		}
		const trials = 3
		s := &Session{
			replies: replies{hint: new(Command).hint, trials: trials, ended: make([]bool, trials)},
			metrics: []*pluginv1.Metric{{Name: "m"}},
		}
		faults, err := s.faults(m.Faults)
		if err == nil && len(faults) > trials {
			t.Errorf("%d faults of %d trials", len(faults), trials)
		}
		for _, fault := range faults {
			if fault.Trial < 0 || fault.Trial >= trials || fault.Kind == "" || len(fault.Message) > maxText {
				t.Errorf("%+v", fault)
			}
		}
		metrics, err := s.readMetrics(m.Metrics)
		if err == nil && (len(metrics) != 1 || len(metrics["m"]) != trials) {
			t.Errorf("%v", metrics)
		}
	})
}
