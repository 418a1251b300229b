// Package forecast predicts what a search for n* will take before and while it runs.
//
// It plays the search through for each n* and each slope of success on a grid (a Scenario), and
// weighs these by the proved bounds of the cell and by the trials that were seen (Beliefs). Its
// numbers are for people: the table of a whole sweep does not depend on them.
//
// Start reading at Forecaster.
package forecast
