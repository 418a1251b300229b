package estimate

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// ShowsAtLeast reports whether k successes in n independent trials show that success is at least
// as likely as target. If it is not, ShowsAtLeast ever returns true with probability at most
// level, even if it is called after every trial and the results determine whether to continue. It
// uses the limit of a confidence sequence (Robbins 1970). 0 <= k <= n; target and level are in
// (0, 1).
//
// The e-process is that of [LogWealth] with the mixture restricted to rates above target, against
// none of which a rate below target gains. So it is LogWealth times the share of the mixture
// above target after the trials, divided by that share before them.
//
// The price of repeated looks, at target 0.9 and level 0.001: showing "at least" takes 938
// successes in 1,000 trials, and 100 in 100; the limits of [CPLower] and [CPUpper], which are
// valid for one look, take 929 and 99. Showing "below" takes at most 854 and 75 successes; one
// look takes 869 and 79.
func ShowsAtLeast(k, n int, target, level float64) bool {
	if float64(k) <= target*float64(n) {
		return false // the trials favor no rate above target
	}
	miss := 1 - target
	before := mathext.RegIncBeta(0.5, 0.5, miss)
	after := mathext.RegIncBeta(float64(n-k)+0.5, float64(k)+0.5, miss)
	return LogWealth(k, n, target)+math.Log(after/before) >= -math.Log(level)
}

// ShowsBelow reports whether k successes in n independent trials show that success is less likely
// than target, with the guarantee of [ShowsAtLeast].
func ShowsBelow(k, n int, target, level float64) bool { return ShowsAtLeast(n-k, n, 1-target, level) }
