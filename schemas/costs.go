package schemas

// Costs says where the CPU time of a run went, in seconds of user and system time. Idle is no CPU
// time; the other parts add up to what the processes of the run used until the manifest was written,
// but for jobs that nobody waited for any more.
type Costs struct {
	Plan    float64 `json:"plan"`
	Open    float64 `json:"open"`
	Start   float64 `json:"start"`
	Draw    float64 `json:"draw"`
	Plugin  float64 `json:"plugin"`
	Score   float64 `json:"score"`
	Search  float64 `json:"search"`
	Carry   float64 `json:"carry"`
	Ledger  float64 `json:"ledger"`
	Results float64 `json:"result_files"`
	Idle    float64 `json:"idle"`
}

// CostPart is one part of Costs.
type CostPart struct {
	Name, Doc string
	Seconds   float64
}

// Parts lists the parts of the CPU time, in the order in which a trial meets them.
func (c *Costs) Parts() []CostPart {
	return []CostPart{
		{"plan", "reading and checking the sweep, with the plugins that were asked", c.Plan},
		{"open", "opening problems in workers: reading data, preparing classes", c.Open},
		{"start", "the plugins' processes, until they were ready", c.Start},
		{"draw", "drawing samples, targets, points and queries", c.Draw},
		{"plugin", "the plugins' processes: learning, answering, garbage collection", c.Plugin},
		{"score", "scoring answers", c.Score},
		{"search", "choosing the next trials, and predicting what is left", c.Search},
		{"carry", "what remains: carrying jobs and outcomes, watching the plugins, garbage collection", c.Carry},
		{"ledger", "ledger and cache", c.Ledger},
		{"result files", "reading the ledger, and writing tables and trials", c.Results},
	}
}

// Total returns the sum of the parts.
func (c *Costs) Total() (seconds float64) {
	for _, p := range c.Parts() {
		seconds += p.Seconds
	}
	return seconds
}
