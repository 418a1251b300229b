package algo

import (
	"errors"
	"fmt"
	"math"
)

// metrics holds the reported metrics of all trials of a session.
type metrics struct {
	names  []string  // sorted
	trials int       // number of trials in the session
	values []float64 // a number per trial and name, NaN if not reported; nil before any report
	bad    string    // reason why a report fails the current trial; empty if none does
}

// report implements Trial.Report.
func (m *metrics) report(trial int, name string, value float64) {
	for i, n := range m.names {
		if n != name {
			continue
		}
		if math.IsNaN(value) || math.IsInf(value, 0) {
			m.bad = fmt.Sprintf("metric %q is %v", name, value)
			return
		}
		if m.values == nil {
			m.values = make([]float64, m.trials*len(m.names))
			fillNaN(m.values)
		}
		m.values[trial*len(m.names)+i] = value
		return
	}
	panic(fmt.Sprintf("algo: Report(%q): not in the algorithm's Metrics", name))
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
	if m.values == nil {
		return nil
	}
	packed := make(map[string][]byte, len(m.names))
	for i, name := range m.names {
		column := make([]float64, m.trials)
		for j := range column {
			column[j] = m.values[j*len(m.names)+i]
		}
		packed[name] = bytesOf(column)
	}
	return packed
}
