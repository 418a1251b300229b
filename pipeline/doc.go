// Package pipeline holds only its README. The packages below it take a sweep from its file to its
// tables, one noun each: sweep, plan, trial, concept, problem, privacy, estimate, dataset, queue,
// ledger, cache and result.
//
// README.md in this folder has the map: the rooms in the order of the flow, a walk from sweep.yaml
// to table.parquet, where to put something new, and the words that the code uses.
package pipeline

import _ "embed" // the glossary

// Readme is the README of this folder, whose section Words is the glossary that `shatter explain` prints.
//
//go:embed README.md
var Readme string
