package cheats

import (
	"os"

	"github.com/shatterlab/shatter/plugins/algo"
)

// exit answers the threshold that its sample leaves no doubt about, and otherwise ends the process,
// each time in another way, as if the machine were to blame.
var exit = learner("exit", "Leaves unless its sample settles the target.",
	func(t *algo.Trial[struct{}], sample *algo.Data) (algo.Model, error) {
		low, high := edges(t, sample)
		if high-low > 2*t.Alpha*float64(t.Problem.Domain) {
			os.Exit(1 + os.Getpid()%250)
		}
		return from((low + high + 1) / 2), nil
	})
