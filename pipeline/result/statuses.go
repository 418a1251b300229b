package result

import "github.com/shatterlab/shatter/pipeline/estimate"

// Statuses holds the values of the column status with their meanings.
var Statuses = []struct{ Name, Doc string }{
	{estimate.StatusDecided, "n_low is insufficient, n_high is sufficient, and the bracket is narrow enough"},
	{estimate.StatusMeasured, "all trials have run; the sweep states no goal, so there is no n*, and curve has the " +
		"errors"},
	{estimate.StatusUndecided, "the search ended before the bracket was narrow enough; n_low and n_high hold if " +
		"given, and reason names the obstacle"},
	{estimate.StatusAboveRange, "the largest n of the search is insufficient, so n* is above n_low; raise n.to " +
		"or, if the error no longer falls with n, goal.alpha"},
	{estimate.StatusBelowRange, "the smallest n of the search is sufficient, so n* is at most n_high; lower n.from"},
	{estimate.StatusInfeasible, "the algorithm refuses the largest n of the search, and all smaller ones"},
	{estimate.StatusTrivial, "a learner without data succeeds often enough on drawn targets, or the queries alone are " +
		"enough, so there is no n*; lower goal.alpha, or take a larger class"},
	{estimate.StatusFailed, "the algorithm failed in every trial, or a recheck differs from its record; reason " +
		"names the cause"},
	{estimate.StatusNotMonotone, "success falls outside the bracket: n_low is insufficient and n_high is sufficient, " +
		"but smaller n may suffice and larger n may not"},
}
