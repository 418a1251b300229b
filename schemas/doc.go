// Package schemas holds the formats that Shatter promises to others: the sweep file and its JSON
// Schema, the problem as resolved, and the columns of the result files.
package schemas

import _ "embed" // the schema

// SweepSchema is the JSON Schema of the sweep file.
//
//go:embed sweep.schema.json
var SweepSchema []byte
