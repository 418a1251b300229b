// Package estimate turns outcomes of trials into statements about sample sizes that say how sure
// they are.
//
// It promises that [Search] finds a bracket for the least sufficient sample size n* that holds with
// the stated confidence for the whole table, however often and whenever it looks, and that is a
// function of the outcomes alone. Intervals and limits that are called exact hold for every true
// value. Fitted curves are for plots and planning; they hold if the truth has their form.
//
// It needs trials that are independent of each other, at one sample size and between sample sizes,
// and, for statements about n*, a success probability that does not fall as the sample grows.
//
// Start at [Decider] and [Search]. [ClopperPearson] is the interval of a single rate, [FitModel] the point
// estimate of n*, and [FitTrend] the slope through several cells.
package estimate
