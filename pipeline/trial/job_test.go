package trial

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/shatterlab/shatter/pipeline/problem"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
)

func exampleJob() *Job {
	return &Job{
		Sweep: "0123456789abcdef", ID: "a-10-1", N: 10, First: 32, Count: 16, Plugin: "beef", Profile: "amd64-fma-go1.26",
		Cell: &Cell{
			Key: Key{1}, DataKey: Key{2}, NoiseKey: Key{3}, Task: "learn", Algorithm: "a", As: "b",
			Problem: &schemas.Problem{Class: "halfspace", Dim: 3, Margin: 0.1, Noise: schemas.Noise{Kind: "none"}},
			Public:  &pluginv1.Problem{Class: "halfspace", Dim: 3},
			Params:  Params{"rounds": int64(3), "scale": 2.0, "raw": true, "weak": "unit"},
			N:       []int64{10}, Trials: 100, Metrics: []string{"m"}, Evaluation: &problem.Evaluation{Words: "exact"},
		},
	}
}

func TestJobRoundTrip(t *testing.T) {
	want := exampleJob()
	msg, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeJob(msg)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got, protocmp.Transform()); d != "" {
		t.Error(d)
	}
}

// Damaged cells are refused.
func TestDamagedCell(t *testing.T) {
	for _, bad := range []string{
		``, `[]`, `{"Key":"x"}`, `{"Params":{"a":[1]}}`, `{"Params":{"a":99999999999999999999}}`, `{"Public":{"dim":-1}}`,
	} {
		if err := json.Unmarshal([]byte(bad), new(Cell)); err == nil {
			t.Errorf("cell %s was read", bad)
		}
	}
}

func TestPickedRepetitions(t *testing.T) {
	j := exampleJob()
	j.First, j.Count, j.Picked, j.Recheck = 3, 3, []int64{3, 7, 2000}, RecheckShuffled
	msg, err := j.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeJob(msg)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int64{3, 7, 2000} {
		if rep := got.Repetition(i); rep != want {
			t.Errorf("Repetition(%d) = %d, want %d", i, rep, want)
		}
	}
}

func TestJobRefused(t *testing.T) {
	for name, spoil := range map[string]func(*Job){
		"no sweep": func(j *Job) { j.Sweep = "" }, "no id": func(j *Job) { j.ID = "" },
		"no cell": func(j *Job) { j.Cell = nil },
		"n":       func(j *Job) { j.N = 0 }, "first": func(j *Job) { j.First = -1 }, "count": func(j *Job) { j.Count = 0 },
		"beyond": func(j *Job) { j.First = MaxRepetition }, "overflow": func(j *Job) { j.First, j.Count = 1<<62, 1<<62 },
		"huge": func(j *Job) { j.Count = 1<<63 - 1 }, "unknown recheck": func(j *Job) { j.Recheck = "twice" },
		"too few picked": func(j *Job) { j.First, j.Count, j.Picked = 3, 2, []int64{3} },
		"descending":     func(j *Job) { j.First, j.Count, j.Picked = 3, 2, []int64{3, 3} },
		"picked before":  func(j *Job) { j.First, j.Count, j.Picked = 4, 2, []int64{3, 5} },
		"picked beyond":  func(j *Job) { j.First, j.Count, j.Picked = 3, 2, []int64{3, 1 << 31} },
	} {
		j := exampleJob()
		spoil(j)
		msg, err := j.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := DecodeJob(msg); err == nil {
			t.Errorf("%s: decoded as %+v", name, got)
		}
	}
}

// Arbitrary bytes are refused or yield a job with everything that a worker needs.
func FuzzDecodeJob(f *testing.F) {
	msg, err := exampleJob().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(msg)
	f.Add(msg[:len(msg)/2])
	f.Add([]byte(`{"sweep":"s","id":"i","cell":{"Public":{"dim":4294967295}},` +
		`"n":9223372036854775807,"first":0,"count":1}`))
	f.Add([]byte(`{"sweep":"s","id":"i","cell":{"Params":{"a":null}},"n":1,"first":0,"count":1}`))
	f.Add([]byte(`{"sweep":"s","id":"i","cell":{"Problem":{"class":"stumps"}},"n":1,"first":0,"count":1}`))
	f.Fuzz(func(t *testing.T, msg []byte) {
		j, err := DecodeJob(msg)
		if err != nil {
			return
		}
		if most := j.Cell.SessionTrials(j.N); most < 1 || most > SessionTrials {
			t.Fatalf("a session of %d trials", most)
		}
		j.Cell.Setting(j.N)
		j.Cell.TrialID(j.N, j.Repetition(int(min(j.Count, 1<<20)-1)))
		again, err := j.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := DecodeJob(again); err != nil {
			t.Fatal(err)
		}
	})
}
