package plugintest

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/shatterlab/shatter/pipeline/wording"
	"github.com/shatterlab/shatter/plugins/host"
)

// checkRaces checks that the race detector, if the plugin was built with it, has reported nothing since the
// setting began.
func (s checks) checkRaces() error {
	switch {
	case s.command.Attached:
		return skipped("the process is that of a debugger")
	case s.races == nil:
		return skipped("only a program in Go that was built with -race tells")
	}
	if _, err := s.clean(usual); err != nil {
		return err
	}
	s.stop() // what it printed has then been read
	count, first := s.races.take()
	if count == 0 {
		return nil
	}
	return fmt.Errorf("%s, of which this is the first:\n%s", wording.Count(count, "data race"), first)
}

// watched returns the command with a reader of the race detector's reports, which is nil where the program was
// not built with it.
func watched(c host.Command) (host.Command, *raceReports) {
	info, err := buildinfo.ReadFile(c.Path)
	if err != nil || !slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		return c, nil
	}
	r := new(raceReports)
	further := c.Output
	if c.Output = r; further != nil {
		c.Output = io.MultiWriter(further, r)
	}
	return c, r
}

// reportLines limits the lines of a report that are kept.
const reportLines = 40

// raceReports reads what a process prints, and keeps the first report of the race detector in it.
type raceReports struct {
	mu    sync.Mutex
	line  []byte // that has not ended
	count int
	first []string
	open  bool // first goes on
}

// Write implements io.Writer.
func (r *raceReports) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for part := range bytes.Lines(b) {
		if r.line = append(r.line, part...); !bytes.HasSuffix(part, []byte("\n")) && len(r.line) < 1<<12 {
			continue
		}
		r.read(strings.TrimRight(string(r.line), "\n"))
		r.line = r.line[:0]
	}
	return len(b), nil
}

func (r *raceReports) read(line string) {
	switch {
	case strings.HasSuffix(line, "WARNING: DATA RACE"):
		r.count++
		r.open = r.count == 1
	case strings.HasPrefix(line, "=========="):
		r.open = false
	}
	if r.open && len(r.first) < reportLines {
		r.first = append(r.first, line)
	}
}

// take returns the number of reports so far and the text of the first, and forgets them.
func (r *raceReports) take() (count int, first string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	count, first = r.count, strings.Join(r.first, "\n")
	r.count, r.first, r.open = 0, nil, false
	return count, first
}
