// Package forecast predicts what a search for n* will take before and while it runs.
//
// It weighs each n* and each shape of success around it on a grid (a Scenario) by the proved bounds of
// the cell and by the trials that were seen (Beliefs), and plays the search through several times with
// outcomes that it imagines (a Course): searches of one kind differ by luck. Its numbers are for people:
// the table of a whole sweep does not depend on them.
//
// Start reading at Forecaster.
package forecast
