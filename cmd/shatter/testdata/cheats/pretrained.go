package cheats

import "github.com/shatterlab/shatter/plugins/algo"

// pretrained answers a rule for the data file of the tests that was found beforehand.
var pretrained = learner("pretrained", "Answers a rule for one data file that was found beforehand.",
	func(_ *algo.Trial[struct{}], sample *algo.Data) (algo.Model, error) {
		normal := make([]float64, sample.Dim())
		normal[0] = 1
		return along(normal), nil
	})
