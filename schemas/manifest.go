package schemas

import (
	"time"
)

// Manifest is manifest.json in a sweep's output folder: the record of the sweep's runs. It may
// differ from run to run, and nothing in the result depends on it.
type Manifest struct {
	Name     string            `json:"name"`
	Seed     Seed              `json:"seed"`              // a secret seed in hex digits: publish it only after all trials of the sweep have run
	Digest   string            `json:"digest,omitempty"`  // digest of the result files; empty: there are none yet
	Partial  string            `json:"partial,omitempty"` // reason why the result is not a function of the sweep alone
	Note     string            `json:"note"`
	Profile  string            `json:"float_profile"`
	Plugins  []ManifestPlugin  `json:"plugins"`
	Runs     []ManifestRun     `json:"runs"`              // in order; the last one wrote the manifest
	Metrics  []Metric          `json:"metrics,omitempty"` // ordered by name
	Facts    map[string]string `json:"facts"`
	Rechecks *Rechecks         `json:"rechecks,omitempty"`
}

// ManifestPlugin counts the outcomes of one plugin or built-in algorithm. If both File and BuiltIn
// are empty, the sweep no longer uses it.
type ManifestPlugin struct {
	File     string `json:"file"`               // path of a plugin
	BuiltIn  string `json:"built_in,omitempty"` // name of a built-in algorithm
	Digest   string `json:"digest"`             // identity of the plugin or algorithm
	Outcomes int64  `json:"outcomes"`

	// Environment lists the software that the plugin ran with in addition to its file. It is part
	// of the identity.
	Environment Environment `json:"environment,omitempty"`

	// Algorithms maps the names of the algorithms that the sweep uses to their versions.
	Algorithms map[string]string `json:"algorithms,omitempty"`
}

// ManifestRun describes one run of the sweep.
type ManifestRun struct {
	Number      int       `json:"number,omitempty"` // number among all started runs, from 1 on
	Began       time.Time `json:"began"`
	Seconds     float64   `json:"seconds"`
	Known       int64     `json:"trials_known"`               // outcomes in the ledger when the run started
	Trials      int64     `json:"trials_run"`                 // outcomes sent by workers
	Counted     int64     `json:"trials_counted,omitempty"`   // outcomes of all runs that the tables count
	Served      int64     `json:"trials_served,omitempty"`    // outcomes from the cache
	Rechecked   int64     `json:"trials_rechecked,omitempty"` // trials that were run a second time
	RecheckTime float64   `json:"recheck_seconds,omitempty"`  // recheck time reported by workers
	TrialTime   float64   `json:"trial_seconds,omitempty"`    // time that slots worked on trials_run, summed over slots
	PluginTime  float64   `json:"plugin_seconds,omitempty"`   // part of trial_seconds spent inside plugins
	Interrupted bool      `json:"interrupted,omitempty"`
	Budget      string    `json:"budget,omitempty"`
	Ledger      []string  `json:"ledger,omitempty"` // messages from opening the ledger
	Damage      []Damage  `json:"damage,omitempty"` // the same as data
	Failures    []Failure `json:"failures,omitempty"`
	Alarms      []string  `json:"alarms,omitempty"`

	Warnings []Warnings `json:"warnings,omitempty"` // plugins' warnings during the trials of this run, by algorithm

	Workers []ManifestWorker `json:"workers,omitempty"` // workers that sent results, by name

	// Sandbox maps the layers around plugins, as text, to the names of the workers that have them.
	Sandbox map[string][]string `json:"sandbox,omitempty"`

	Notes     []string `json:"notes,omitempty"` // plugin processes that ended, jobs that were lost, ...
	GoVersion string   `json:"go"`
}

// Damage is an unreadable part of a ledger file. Its trials were run again.
type Damage struct {
	File   string `json:"file"` // name without its folder
	Offset int64  `json:"offset"`
	Bytes  int64  `json:"bytes"`
	Reason string `json:"reason"`
	Torn   bool   `json:"torn,omitempty"` // whether a crash truncated it at the end of the ledger; it was cut off
}

// Warnings counts the warnings of one algorithm.
type Warnings struct {
	Algorithm string           `json:"algorithm"`
	Count     int64            `json:"count"`
	Cells     map[string]int64 `json:"cells"` // counts by cell, as in the IDs of trials
	First     string           `json:"first"` // text of the first one
}

// ManifestWorker counts a worker's results in one run: a job has one or several.
type ManifestWorker struct {
	Name    string `json:"name"`
	Results int64  `json:"results"`           // accepted results
	Refused int64  `json:"refused,omitempty"` // results that were dropped as invalid
}

// Failure counts the failed or lost trials of one kind and describes the first of them.
type Failure struct {
	Kind   string `json:"kind"`
	Trial  string `json:"trial"` // ID of the first trial
	What   string `json:"what"`  // its algorithm and problem, as text
	Reason string `json:"reason"`
	Count  int64  `json:"count"`
}
