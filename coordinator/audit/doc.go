// Package audit runs trials again that have an outcome already, and compares the two bit for bit.
//
// It holds everything that runs a trial twice: the recheck of a random share of a sweep's trials ([Recheck]), the
// comparison of changed code with recorded outcomes ([Code]), the sample of `shatter verify` ([Verify]) and a single
// trial ([RunTrial]). Trials that differ are run alone to find the likely cause. It changes no outcome.
package audit
