package sweep_test

import (
	"fmt"

	"github.com/shatterlab/shatter/pipeline/sweep"
)

// Every mistake is reported at once, with its place and a suggestion.
func ExampleParse() {
	_, err := sweep.Parse("first.yaml", []byte(`name: first
problem: {class: tresholds, domain: 2^16, distribution: uniform}
algorithms: [expmech/em]
privacy: {epsilon: 0}
goal: {alpha: 0.1, bta: 0.1}
n: [100, 1000]
`))
	fmt.Println(err)
	// Output:
	// first.yaml:2:18: problem.class: unknown value "tresholds", did you mean "thresholds"?
	// first.yaml:4:20: privacy.epsilon: 0 is outside (0, inf)
	// first.yaml:5:20: goal.bta: unknown key, did you mean "beta"?
}
