package schemas

import (
	"encoding/json"
	"time"
)

// Manifest is manifest.json in a sweep's output folder: how the sweep went. It may differ from run
// to run, and nothing in the result depends on it.
type Manifest struct {
	Name     string            `json:"name"`
	Seed     Seed              `json:"seed"`              // a secret one in hex digits: publish it when nothing of the sweep is left to be run
	Digest   string            `json:"digest,omitempty"`  // of the result files; empty: there are none yet
	Partial  string            `json:"partial,omitempty"` // why the result is not a function of the sweep alone
	Note     string            `json:"note"`
	Profile  string            `json:"float_profile"`
	Plugins  []ManifestPlugin  `json:"plugins"`
	Runs     []ManifestRun     `json:"runs"`              // in order; the last one wrote the manifest
	Metrics  []Metric          `json:"metrics,omitempty"` // by name; an older release did not list them
	Resolved json.RawMessage   `json:"resolved"`
	Facts    map[string]string `json:"facts"`
	Rechecks *Rechecks         `json:"rechecks,omitempty"` // null: an older release made no rechecks
}

// ManifestPlugin counts the outcomes that one plugin or built-in algorithm has made. Where both File
// and BuiltIn are empty, the sweep no longer uses it, or an older release made the outcomes.
type ManifestPlugin struct {
	File     string `json:"file"`               // path of a plugin
	BuiltIn  string `json:"built_in,omitempty"` // name of an algorithm
	Digest   string `json:"digest"`             // its identity
	Outcomes int64  `json:"outcomes"`

	// Environment lists the software that the plugin ran with besides its file. It is part of the identity.
	Environment Environment `json:"environment,omitempty"`

	// Algorithms has the versions of those that the sweep uses, by name; an older release did not list them.
	Algorithms map[string]string `json:"algorithms,omitempty"`
}

// ManifestRun tells what one run of the sweep found and did.
type ManifestRun struct {
	Number      int       `json:"number,omitempty"` // among all runs that were begun, from 1 on; 0: an older release
	Began       time.Time `json:"began"`
	Seconds     float64   `json:"seconds"`
	Known       int64     `json:"trials_known"`               // outcomes in the ledger when the run began
	Trials      int64     `json:"trials_run"`                 // outcomes that workers brought
	Counted     int64     `json:"trials_counted,omitempty"`   // outcomes of all runs that the tables count
	Served      int64     `json:"trials_served,omitempty"`    // outcomes from the cache
	Rechecked   int64     `json:"trials_rechecked,omitempty"` // trials that were run a second time
	RecheckTime float64   `json:"recheck_seconds,omitempty"`  // that workers reported for these
	TrialTime   float64   `json:"trial_seconds,omitempty"`    // time that slots worked on trials_run, summed over slots
	PluginTime  float64   `json:"plugin_seconds,omitempty"`   // part of trial_seconds that was spent inside plugins
	Interrupted bool      `json:"interrupted,omitempty"`
	Budget      string    `json:"budget,omitempty"`
	Ledger      []string  `json:"ledger,omitempty"` // what opening the ledger found, in words
	Damage      []Damage  `json:"damage,omitempty"` // the same; older releases wrote only the words
	Failures    []Failure `json:"failures,omitempty"`
	Alarms      []string  `json:"alarms,omitempty"`

	Workers []ManifestWorker `json:"workers,omitempty"` // that sent results, by name; an older release did not list them

	// Sandbox has the names of the workers by the layers around their plugins, in words.
	Sandbox map[string][]string `json:"sandbox,omitempty"`

	Notes     []string `json:"notes,omitempty"` // plugin processes that ended, jobs that were lost, ...
	GoVersion string   `json:"go"`
}

// Damage is a part of a file of the ledger that could not be read. Its trials were run again.
type Damage struct {
	File   string `json:"file"` // name without its folder
	Offset int64  `json:"offset"`
	Bytes  int64  `json:"bytes"`
	Reason string `json:"reason"`
	Torn   bool   `json:"torn,omitempty"` // a crash cut it short at the end of the ledger; it was cut off
}

// ManifestWorker tells what one run made of the results of a worker: a job has one or several.
type ManifestWorker struct {
	Name    string `json:"name"`
	Results int64  `json:"results"`           // that were taken in
	Refused int64  `json:"refused,omitempty"` // results that were dropped because they were unfit
}

// Failure counts the failed or lost trials of one kind and tells of the first of them.
type Failure struct {
	Kind   string `json:"kind"`
	Trial  string `json:"trial"` // ID of the first
	What   string `json:"what"`  // its algorithm and problem, in words
	Reason string `json:"reason"`
	Count  int64  `json:"count"`
}
