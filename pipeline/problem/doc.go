// Package problem converts the keys of a sweep file into data. It draws the targets, samples and
// evaluation points of trials, and starts the games of adversaries.
//
// A problem consists of a concept class (package concept), a distribution of points (package
// distribution) or a population of real data (package population), a target, and noise on the
// labels of the sample (package noise). The field Doc describes each distribution, noise and
// adversary (package adversary).
//
// The data of a trial is a function of the resolved problem and of four streams of randomness,
// bit for bit. Points are drawn one whole example at a time, so from equal streams the sample of
// n is a prefix of that of 2n. Adversarial and malicious noise are exceptions, because they act
// on the sample as a whole. Drawing allocates nothing per trial.
//
// Errors of declared hypotheses are computed by a formula if the distribution has one. Other
// models are evaluated exactly on a distribution of at most 4096 points and on a population.
// Otherwise they are evaluated on independent points, all of them or by the sequential rule
// (Clear). Evaluation points have clean labels: only the sample is noisy.
//
// Start reading at Problem, then Drawer.
package problem
