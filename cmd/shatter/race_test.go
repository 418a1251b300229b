//go:build race

package main

// raceEnabled reports that the race detector is on, under which everything takes ten times as long.
const raceEnabled = true
