// Package problem turns keys into data: it draws the targets, samples and evaluation points of trials, and knows the real datasets.
//
// Promise: the data of a trial is a function of the resolved problem and of four streams of randomness, bit for bit. Points are drawn one
// whole example at a time, so from equal streams the sample of n is a prefix of that of 2n (adversarial label noise excepted: it acts on the
// sample as a whole). Evaluation points carry clean labels; only the sample is noisy. Nothing is allocated per trial.
//
// Laws on an ordered domain 0..X-1, with fixed targets:
//
//   - uniform: every point has weight 1/X. Targets: the threshold t = X/2, the point X/2, the interval [X/4, 3X/4-1].
//   - needle, with mass a: the law on which exactly one hypothesis has an error below a.
//     Thresholds (without the constant -1): t = X/2; the points t-1 (-1) and t (+1) weigh a each, X-1 (+1) the rest.
//     Points: c = X/2 (+1) weighs a, 0 (-1) the rest.
//     Intervals: [c, c], c = X/2; the points c-1 (-1), c (+1) and c+1 (-1) weigh a each, 0 (-1) the rest.
//
// The law on points of d whole numbers below a side X (stumps, rectangles; conjunctions, monotone conjunctions and parities: X = 2), and on
// the columns of a class matrix, is uniform. Targets: the stump that is +1 where the first number is at least X/2; the rectangle
// [X/4, 3X/4-1] in every number; the conjunction of the first bit and the negation of the second; the monotone one of the first two bits; a
// parity of uniformly chosen bits and a uniform row of the class matrix, both anew in each trial. A law on at most 4096 points is evaluated
// exactly. The thresholds on infinite orders have no law: opponents alone choose their points.
//
// Laws for halfspaces with margin tau (y<u,x> >= tau, |x| = 1), where u is uniform on the unit sphere of R^d, anew in each trial:
//
//   - iso: y is a fair coin, yx = tau u + sqrt(1-tau^2) g with g uniform on the unit sphere orthogonal to u.
//   - skew, with minority p: the same with q/|q| in place of g, q = s e + g/2, where e is a unit vector orthogonal to u, uniform and
//     anew in each trial, and s = -1 with probability p, else +1. The average of yx then errs on the minority.
//   - ball-margin: x is uniform on the sphere, conditioned on |<u,x>| >= tau, and y = sign<u,x>.
//
// Real data: the rows of a CSV, Parquet or Arrow file are the population, samples are drawn from it with replacement, and the
// evaluation is exact. A row holds the features, then for each categorical column one number per value of the file, sorted: 1 for
// the row's own value, else 0. Rows are brought into the unit ball by a stated, public bound, never by their own maximum, which
// would leak: either divided by a bound on the norm, longer rows by their norm; or each feature mapped from its range to
// [-1, 1], a value outside to the nearer end, and the row divided by sqrt(k), k being the columns of the file in use. An ordered
// class takes one column of integers as it is, and the other classes on whole numbers take all columns as they are. Labels and
// categories are compared as text; numbers have their shortest one.
//
// Label noise on the sample: random flips each label with the rate, from its own stream. Adversarial flips floor(rate n) labels
// after seeing the clean sample of n: for halfspaces those with the largest y<x,w>, w being the plain average of yx, the
// largest pull on a learner that averages (Bun, Carmosino and Sorrell 2020 allow any choice); on an ordered domain positives by
// increasing value, so that the left end of the target seems to lie further right, and once they run out negatives by
// decreasing value; on other points positives, and once they run out negatives. Ties go to the earlier example.
//
// Adversaries ask the queries of a game. They know the problem with its target and the answers, never the sample:
//
//   - stochastic asks fresh points of the law.
//   - boundary asks points at the target's edge: on a hyperplane uniform unit vectors of it; on whole numbers a uniform point of the target,
//     one number of which is moved to the edge, up to a width to either side (by default domain/n, about as far as two samples differ).
//   - repeat asks one point all the time, drawn as the others are, at the very edge where there is one.
//   - adaptive looks at the answers. On whole numbers it bisects for the edge that they show, then asks the two points beside it; on a class matrix
//     it asks the column that splits the hypotheses which agree with the answers most evenly; for halfspaces it asks points on the hyperplane
//     that fits the last answers. If it sees marks as well, it begins anew, after each hard query, with what agrees with the hard queries;
//     for halfspaces marks change nothing.
//
// Opponents play the rounds of online learning: a point, an answer, its truth. They know the problem with its target, and the answers. Those
// that force mistakes keep the version space, the hypotheses that agree with all truths so far, and never leave it empty. Where an
// opponent goes against an answer of 0, or against none, the truth is a fair coin.
//
//   - random asks points of the law; the truth is a fair coin.
//   - planted asks points of the law; the truth is the target's label, over data the row's own, wrong with the probability rate.
//   - round-robin, of the class points, asks the points 0..X-1 in turns, all labelled -1: the hypothesis of the point asked, alone, errs.
//   - tree asks the first point that splits the version space into two parts of at least its Littlestone dimension less one (thresholds:
//     the middle, into halves), and goes against the answer: any deterministic learner makes as many mistakes as the dimension of the class
//     (Littlestone 1988). If it sees the past alone, for learners whose answer is a fresh draw, the truth is a fair coin. Once one
//     hypothesis is left it asks points of the law, labelled by that one.
//   - bisecting does the same on thresholds, and in the end asks the two points beside the edge in turns. On the natural numbers it begins with
//     the point from, and goes as far up again after each label -1, until a first +1 leaves it from thresholds to bisect. On the dyadic numbers in
//     [0, 1), a dense order, it bisects for ever, but for float64, which holds 53 halvings wherever they lead.
//   - smoothed is tree, but asks with the probability rate a uniform point of the domain, and then goes against the answer only
//     where the version space has both labels.
//   - leader-killer asks points of the law; the truth is what the leader, the first of the hypotheses with the fewest mistakes so far, does not say.
//   - greedy asks points of the law and goes against the answer, or, if it sees the past alone, against the last label observed at this point.
//   - shared-noise asks one point that splits the class, and goes against the last label observed when as many more truths, or fewer, were -1 than
//     +1: a learner whose noise is drawn once repeats that label, and one with fresh noise errs half of the time.
//
// It needs the classes of pipeline/concept for the least error on a population, and for what opponents know of a class. Start reading at Problem,
// then Drawer.
package problem
