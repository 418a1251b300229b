// Package schemas holds the formats that Shatter promises to others: the sweep file and its JSON
// Schema, the problem as resolved, and the columns of the result files.
package schemas
