package schemas

// Problem is a problem as resolved: every default filled in, data by digest. Its JSON enters the keys of cells and data, so a
// field is never renamed and its zero value, left out of the JSON, always means "does not apply".
type Problem struct {
	Class        string  `json:"class"`                  // thresholds, points, intervals, halfspace
	Domain       uint64  `json:"domain,omitempty"`       // X: an ordered domain is 0..X-1
	Dim          int     `json:"d,omitempty"`            // numbers per example
	Distribution string  `json:"distribution,omitempty"` // uniform, needle, iso, skew, ball-margin; empty with Data
	Mass         float64 `json:"mass,omitempty"`         // needle: the weight a of each of its points
	Minority     float64 `json:"minority,omitempty"`     // skew: the share p of the minority
	Margin       float64 `json:"margin,omitempty"`       // tau
	Noise        Noise   `json:"noise"`
	Data         *Data   `json:"data,omitempty"`
	Test         int     `json:"test,omitempty"` // size of the evaluation sample; 0 where the evaluation is exact
}

// Noise is the noise on the labels of the sample; the evaluation always uses clean labels.
type Noise struct {
	Kind string  `json:"kind"`           // none, random, adversarial
	Rate float64 `json:"rate,omitempty"` // in [0, 1/2)
}

// Data is a real dataset whose rows are the population.
type Data struct {
	File        string   `json:"-"`      // path; not part of the meaning
	Digest      string   `json:"digest"` // SHA-256 of the file's bytes, hex
	Format      string   `json:"format"` // csv, parquet, arrow
	Label       string   `json:"label"`
	Positive    string   `json:"positive"`              // the label's value that becomes +1
	Features    []string `json:"features,omitempty"`    // numeric columns, in order
	Categorical []string `json:"categorical,omitempty"` // one-hot columns, in order
	Scale       Scale    `json:"scale"`
}

// Scale is the stated, public bound that brings rows into the unit ball: exactly one of its fields is set. A row that still
// exceeds norm 1 is scaled back onto the ball. The data's own maximum is never used, because it would leak.
type Scale struct {
	Norm   float64               `json:"norm,omitempty"`   // a bound on the Euclidean norm of a row
	Ranges map[string][2]float64 `json:"ranges,omitempty"` // low and high of each numeric column, mapped to [-1, 1]; k columns are then divided by sqrt(k)
}
