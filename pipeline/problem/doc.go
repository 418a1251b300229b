// Package problem turns the keys of a sweep file into data: it draws the targets, samples and
// evaluation points of trials, and begins the games of adversaries.
//
// A problem is a concept class (package concept), a distribution of points (package distribution)
// or a population of real data (package population), a target, and noise on the labels of the
// sample (package noise). Each distribution, noise and adversary (package adversary) is described
// at its own value, in the field Doc.
//
// The data of a trial is a function of the resolved problem and of four streams of randomness, bit
// for bit. Points are drawn one whole example at a time, so from equal streams the sample of n is a
// prefix of that of 2n; adversarial and malicious noise are the exception, for they act on the
// sample as a whole. Drawing allocates nothing per trial.
//
// Errors of declared hypotheses are computed by a formula if the distribution has one. Other models are
// evaluated exactly on a distribution of at most 4096 points and on a population, and on independent points
// otherwise, all of them or by the sequential rule (Clear). Evaluation points carry clean labels: only
// the sample is noisy.
//
// Start reading at Problem, then Drawer.
package problem
