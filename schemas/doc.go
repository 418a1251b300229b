// Package schemas defines the public formats of Shatter: the sweep file and its JSON Schema, the
// resolved problem, and the columns of the result files.
package schemas

import _ "embed" // for the schema

// SweepSchema is the JSON Schema of the sweep file.
//
//go:embed sweep.schema.json
var SweepSchema []byte
