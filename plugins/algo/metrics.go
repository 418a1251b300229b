package algo

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// metrics holds the reported metrics of all trials of a session.
type metrics struct {
	names   []string
	columns map[string][]float64 // a number per trial, NaN if not reported; nil before any report
	trials  int                  // number of trials in the session
	bad     string               // reason why a report fails the current trial; empty if none does
}

// report implements Trial.Report.
func (m *metrics) report(trial int, name string, value float64) {
	switch {
	case !slices.Contains(m.names, name):
		panic(fmt.Sprintf("algo: Report(%q): not in the algorithm's Metrics", name))
	case math.IsNaN(value) || math.IsInf(value, 0):
		m.bad = fmt.Sprintf("metric %q is %v", name, value)
		return
	case m.columns == nil:
		m.columns = map[string][]float64{}
		for _, name := range m.names {
			m.columns[name] = slices.Repeat([]float64{math.NaN()}, m.trials)
		}
	}
	m.columns[name][trial] = value
}

// takeError returns an error if a report failed the current trial, and clears it.
func (m *metrics) takeError() error {
	if m.bad == "" {
		return nil
	}
	err := errors.New(m.bad)
	m.bad = ""
	return err
}

// packed encodes the metrics for the protocol: for each name one number per trial.
func (m *metrics) packed() map[string][]byte {
	if m.columns == nil {
		return nil
	}
	packed := make(map[string][]byte, len(m.columns))
	for name, column := range m.columns {
		packed[name] = bytesOf(column)
	}
	return packed
}
