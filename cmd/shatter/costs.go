package main

import (
	"fmt"
	"io"
	"time"

	"github.com/shatterlab/shatter/coordinator"
	"github.com/shatterlab/shatter/schemas"
)

// writeCosts says where the CPU time of a run went. report is what its tables and its report took.
func writeCosts(w io.Writer, c *schemas.Costs, report time.Duration) {
	parts := append(c.Parts(), schemas.CostPart{
		Name: "report", Doc: "printing the tables, and writing the report", Seconds: report.Seconds(),
	})
	total := c.Total() + report.Seconds()
	fmt.Fprintf(w, "CPU time of this run and its workers, in seconds of user and system time, second looks included:\n")
	for _, p := range parts {
		fmt.Fprintf(w, "  %-12s %9.3f  %3.0f %%  %s\n", p.Name, p.Seconds, 100*p.Seconds/max(total, 1e-9), p.Doc)
	}
	fmt.Fprintf(w, "  %-12s %9.3f\n", "together", total)
	fmt.Fprintf(w, "  %-12s %9.3f         no CPU time: seconds without a job, all workers added up\n", "idle", c.Idle)
}

// costsOf says where the CPU time of a sweep will go, as far as it is known; "" where nothing is.
func costsOf(p *coordinator.Prediction) string {
	if p.Seconds.Likely == 0 {
		return ""
	}
	percent := func(seconds float64) string { return fmt.Sprintf("%.0f %%", 100*seconds/p.Seconds.Likely) }
	return fmt.Sprintf("plugins %s of the workers' time, drawing %s, scoring %s, the rest is carrying and waiting; "+
		"checking took %s",
		percent(p.Costs.Plugin), percent(p.Costs.Draw), percent(p.Costs.Score), roughSeconds(p.Costs.Plan))
}
