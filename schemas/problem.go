package schemas

import "fmt"

// Problem is a resolved problem: every default filled in, data identified by digest. Its JSON is
// part of the keys of cells and data, so a field is never renamed, and its zero value, which the
// JSON omits, always means "does not apply".
type Problem struct {
	Class        string  `json:"class"`                  // thresholds, points, intervals, stumps, rectangles, ..., halfspace, matrix, thresholds-naturals, ...
	Domain       uint64  `json:"domain,omitempty"`       // X: every coordinate of a point is one of 0..X-1
	Dim          int     `json:"d,omitempty"`            // coordinates per example
	Distribution string  `json:"distribution,omitempty"` // uniform, needle, iso, skew, ball-margin, iso-fixed, skew-fixed; empty with Data
	Mass         float64 `json:"mass,omitempty"`         // needle: the weight a of each of its points
	BestError    float64 `json:"best_error,omitempty"`   // agnostic: the least error of the class
	Target       string  `json:"target,omitempty"`       // random, uniform, middle, or the text of a hypothesis; empty if unknown
	Literals     int     `json:"literals,omitempty"`     // random conjunctions: number of literals
	Minority     float64 `json:"minority,omitempty"`     // skew distributions: the share p of the minority
	Margin       float64 `json:"margin,omitempty"`       // tau
	Noise        Noise   `json:"noise"`
	Matrix       *Matrix `json:"matrix,omitempty"`
	Data         *Data   `json:"data,omitempty"`
	Plugin       *Plugin `json:"plugin,omitempty"`   // a problem of a plugin; Distribution to Margin do not apply
	Disguise     bool    `json:"disguise,omitempty"` // Data: whether each trial applies its own isometry and label sign
	Test         int     `json:"test,omitempty"`     // number of evaluation points; 0 if the evaluation is exact, or none is stated
}

// Noise is the noise on the labels, or on the examples, of the sample; the evaluation always uses
// clean ones.
type Noise struct {
	Kind string  `json:"kind"`           // none, random, adversarial, malicious
	Rate float64 `json:"rate,omitempty"` // in [0, 1/2)
}

// Sampled returns the part of the problem that determines the samples and the adversary of a trial:
// the problem without the number of evaluation points.
func (p Problem) Sampled() Problem {
	p.Test = 0
	return p
}

// File returns the path and the digest of the file that the problem requires. Both are empty if it
// requires none.
func (p *Problem) File() (path, digest string) {
	switch {
	case p.Data != nil:
		return p.Data.File, p.Data.Digest
	case p.Matrix != nil:
		return p.Matrix.File, p.Matrix.Digest
	}
	return "", ""
}

// Path returns the path of the file or plugin that the problem requires; "" if it requires none.
func (p *Problem) Path() string {
	if p.Plugin != nil {
		return p.Plugin.File
	}
	path, _ := p.File()
	return path
}

// At returns the problem with its file or plugin, if it requires one, at another path.
func (p Problem) At(path string) Problem {
	switch {
	case p.Plugin != nil:
		plugin := *p.Plugin
		plugin.File = path
		p.Plugin = &plugin
	case p.Data != nil:
		data := *p.Data
		data.File = path
		p.Data = &data
	case p.Matrix != nil:
		matrix := *p.Matrix
		matrix.File = path
		p.Matrix = &matrix
	}
	return p
}

// Matrix is a class given as a table: a row for each hypothesis, a column for each point, 0 for the
// label -1 and 1 for +1.
type Matrix struct {
	File   string `json:"-"`      // path; not part of the meaning
	Digest string `json:"digest"` // SHA-256 of the file's bytes, hex
	Format string `json:"format"` // csv, parquet, arrow
}

// Data is a real dataset whose rows are the population.
type Data struct {
	File        string   `json:"-"`                   // path; not part of the meaning
	Digest      string   `json:"digest"`              // SHA-256 of the file's bytes, hex
	Format      string   `json:"format"`              // csv, parquet, arrow, libsvm
	Delimiter   string   `json:"delimiter,omitempty"` // csv: one character between cells; empty: a comma
	Decimal     string   `json:"decimal,omitempty"`   // csv: the decimal sign; empty: a point
	Label       string   `json:"label"`
	Positive    string   `json:"positive"`              // the label's value that becomes +1
	Features    []string `json:"features,omitempty"`    // numeric columns, in order
	Categorical []string `json:"categorical,omitempty"` // one-hot columns, in order
	Missing     string   `json:"missing,omitempty"`     // drop, mean; empty: a missing cell is refused
	Bias        bool     `json:"bias,omitempty"`        // a last coordinate that is constant
	Scale       Scale    `json:"scale"`
}

// Scale is the stated, public bound that maps rows into the unit ball: exactly one of its fields is
// set. A row that still exceeds norm 1 is scaled back onto the ball. The data's own maximum is
// never used, because it would leak.
type Scale struct {
	Norm   float64               `json:"norm,omitempty"`   // a bound on the Euclidean norm of a row
	Ranges map[string][2]float64 `json:"ranges,omitempty"` // low and high of each numeric column, mapped to [-1, 1]; k columns are then divided by sqrt(k)
}

// Plugin is a problem that a plugin draws.
type Plugin struct {
	File       string   `json:"-"`                     // absolute path; not part of the meaning
	Digest     string   `json:"digest"`                // identity of the plugin
	Name       string   `json:"name"`                  // name of the problem
	Version    string   `json:"version"`               // version of the problem
	Params     Params   `json:"params"`                // with defaults filled in: numbers, bools and strings
	LeastError *float64 `json:"least_error,omitempty"` // least error of the class; nil: unknown
}

// Adversary is the resolved adversary that asks the queries of task predict, or plays the rounds of
// task online. Its JSON is part of the keys of cells.
type Adversary struct {
	Kind    string  `json:"kind"`              // boundary, repeat, stochastic, adaptive; tree, bisecting, random, planted, round-robin, ...
	Sees    string  `json:"sees,omitempty"`    // adaptive: labels, or marks: labels and marks; tree, greedy, smoothed: answers, or past: only earlier answers
	Offline bool    `json:"offline,omitempty"` // whether all queries are revealed to the algorithm beforehand
	Width   int     `json:"width,omitempty"`   // boundary, on integer points: the distance from the edge; 0: drawn for each query
	Rate    float64 `json:"rate,omitempty"`    // online: the share of rounds with a wrong label (planted), or with a uniform point (smoothed)
	From    uint64  `json:"from,omitempty"`    // bisecting, on the natural numbers: the first point
}

// String returns a short description of the adversary for tables: "boundary", "adaptive sees
// marks", "repeat offline".
func (a Adversary) String() string {
	s := a.Kind
	if a.Sees != "" {
		s += " sees " + a.Sees
	}
	if a.Rate != 0 {
		s += fmt.Sprintf(" %v", a.Rate)
	}
	if a.From != 0 {
		s += fmt.Sprintf(" from %d", a.From)
	}
	if a.Width != 0 {
		s += fmt.Sprintf(" width %d", a.Width)
	}
	if a.Offline {
		s += " offline"
	}
	return s
}
