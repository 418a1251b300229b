// Package estimate computes statements about sample sizes, with their confidence, from outcomes
// of trials.
//
// [Search] finds a bracket for the least sufficient sample size n*. The bracket holds with the
// stated confidence for the whole table, however often it is read, and it is a function of the
// outcomes alone. Intervals and limits that are called exact hold for every true value. Fitted
// curves are for plots and planning; they hold only if the true success rate has their form.
//
// The package assumes that trials are independent of each other, at one sample size and between
// sample sizes. Statements about n* also assume a success probability that does not fall as the
// sample grows.
//
// Start at [Decider] and [Search]. [ClopperPearson] is the interval of a single rate, [FitModel]
// the point estimate of n*, and [FitTrend] the slope through several cells.
package estimate
