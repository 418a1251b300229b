// Package finite contains the common parts of the families of algorithms over finite concept
// classes: the class that a problem names, the path from a sample through the errors of all
// hypotheses to a model, the proved sample sizes, and a cache of data that trials on the same class
// share.
//
// A trial's answers depend only on its setting, its sample and its random numbers: sharing between
// trials saves time and memory and does not change any bit. The classes must be those of
// pipeline/concept.
//
// Start with [Learn] for an algorithm that picks a hypothesis by its number of errors, with [Gap]
// for its bounds, and with [Cache] for one that prepares a class beforehand.
package finite

import (
	"context"
	"math"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/plugins/algo"
)

// SpecOf returns the name of the concept class of a problem, for [concept.New].
func SpecOf(p algo.Problem) concept.Spec {
	return concept.Spec{
		Name: p.Class, Domain: p.Domain, Dim: p.Dim, NoConstant: p.NoConstant, Matrix: p.Matrix,
	}
}

// Counted returns the class of a problem if [concept.Profile] can count the errors of all its
// hypotheses. Otherwise its error is [algo.Invalid], starts with prefix, the name of the algorithm
// or of its family, and names a remedy.
func Counted(prefix string, p algo.Problem) (concept.Class, error) {
	class, err := concept.New(SpecOf(p))
	if err != nil {
		return nil, algo.Invalid("%s: %v", prefix, err)
	}
	if _, err := class.NewProfile(); err != nil {
		return nil, algo.Invalid("%s: %v: use a smaller dimension or another class", prefix, err)
	}
	return class, nil
}

// CheckSample returns an [algo.Invalid] error, which starts with prefix, if samples of n examples
// are too large for the profiles of class.
func CheckSample(prefix string, class concept.Class, n int) error {
	if err := concept.CheckSample(class, n); err != nil {
		return algo.Invalid("%s: n = %d: %v", prefix, n, err)
	}
	return nil
}

// Learn returns the Learn function of an algorithm that returns the hypothesis chosen by choose
// from the profile of the sample: the numbers of errors of all hypotheses. choose must not retain
// the profile. Trials of one class share the profile's memory, one after another.
func Learn[P any](
	choose func(t *algo.Trial[P], errors concept.Profile) concept.Hypothesis,
) func(context.Context, *algo.Trial[P], *algo.Data) (algo.Model, error) {
	profiles := new(concept.Profiles)
	return func(_ context.Context, t *algo.Trial[P], sample *algo.Data) (algo.Model, error) {
		pick := func(errors concept.Profile) concept.Hypothesis { return choose(t, errors) }
		h, err := profiles.Draw(SpecOf(t.Problem), sample.Xs(), sample.Ys(), pick)
		if err != nil {
			return nil, err
		}
		return Declare(h, t.Problem.Matrix), nil
	}
}

// LogOthers returns ln(|H|-1), the logarithm of the number of hypotheses other than one, for a
// class with logSize = ln |H|. It is -Inf for a single hypothesis.
func LogOthers(logSize float64) float64 {
	if logSize > 36 { // |H| > 2^51: the difference is lost in rounding
		return logSize
	}
	return math.Log(math.Round(math.Exp(logSize)) - 1)
}
