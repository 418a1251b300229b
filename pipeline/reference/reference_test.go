package reference

import (
	"slices"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/concept"
	"github.com/shatterlab/shatter/pipeline/problem/distribution"
	"github.com/shatterlab/shatter/schemas"
)

// Every entry has a meaning, and every key has a line of an example.
func TestEntriesAreComplete(t *testing.T) {
	for _, e := range Entries() {
		if e.Doc == "" {
			t.Errorf("%s %s has no documentation", e.Kind, e.Name)
		}
		if key := e.Name[strings.LastIndexByte(e.Name, '.')+1:]; e.Kind == "key" && !strings.Contains(e.Example, key+":") {
			t.Errorf("the example of %s is %q", e.Name, e.Example)
		}
		if e.Kind == "column" && e.Example == "" {
			t.Errorf("columns.txt has no value of the column %s", e.Name)
		}
	}
}

func TestFind(t *testing.T) {
	all := Entries()
	for _, tt := range []struct {
		word string
		want []string // "kind name"
	}{
		{"problem.noise", []string{"key problem.noise"}},
		{"noise", []string{"key problem.noise", "column noise"}},
		{"noise.rate", []string{"key problem.noise.rate"}},
		{"Rate", []string{"key problem.noise.rate", "key adversary.rate", "column rate"}},
		{"alpha", []string{"key goal.alpha", "column alpha"}},
		{"uniform", []string{"key problem.target", "distribution uniform"}},
		{"random", []string{"key problem.target", "noise random", "adversary random"}},
		{"thresholds", []string{"class thresholds"}},
		{"n_star", []string{"column n_star"}},
		{"clean-labels", []string{"premise clean-labels"}},
		{"query_error", []string{"metric query_error"}},
		{"learn", []string{"task learn"}},
		{"best_error", []string{"key problem.best_error", "column best_error"}},
		{"above_range", []string{"status above_range"}},
		{"n*", []string{"term n*"}},
		{"budget", []string{"term budget", "term budget"}},
		{"ladder", []string{"term ladder"}},
	} {
		found, _ := Find(tt.word, all)
		var got []string
		for _, e := range found {
			got = append(got, e.Kind+" "+e.Name)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s means %q, not %q", tt.word, got, tt.want)
		}
	}
	for word, want := range map[string]string{"problems": `"problem"`, "alhpa": `"alpha"`, "skw": `"skew"`} {
		if found, suggestion := Find(word, all); len(found) > 0 || !strings.Contains(suggestion, want) {
			t.Errorf("%s means %v, with the suggestion %q", word, found, suggestion)
		}
	}
}

// The defaults in tags equal the defaults that are filled in.
func TestDefaultsAreThoseFilledIn(t *testing.T) {
	parse := func(read interface{ UnmarshalText([]byte) error }, text string) error {
		return read.UnmarshalText([]byte(text))
	}
	var time schemas.Duration
	var memory schemas.Bytes
	for _, e := range Entries() {
		i := slices.IndexFunc(e.Facts, func(f Fact) bool { return f.What == "default" })
		if e.Kind != "key" || i < 0 {
			continue
		}
		text := e.Facts[i].Text
		number, err := schemas.ParseFloat(text)
		wrong := false
		switch e.Name {
		case "seed":
			wrong = number != schemas.DefaultSeed
		case "trials":
			wrong = number != schemas.DefaultTrials
		case "problem.minority":
			j := slices.IndexFunc(distribution.Keys(), func(k *distribution.Key) bool { return k.Name == "minority" })
			wrong = number != distribution.Keys()[j].Default
		case "problem.literals":
			wrong = number != concept.DefaultLiterals
		case "n.from":
			wrong = number != schemas.DefaultFrom
		case "n.to":
			wrong = number != schemas.DefaultTo
		case "n.within":
			wrong = number != schemas.DefaultWithin
		case "n.confidence":
			wrong = number != schemas.DefaultConfidence
		case "search.within":
			wrong = number != schemas.DefaultSteps
		case "search.confidence":
			wrong = number != schemas.DefaultConfidence
		case "limits.trial":
			err, wrong = parse(&time, text), time != schemas.DefaultTrialTime
		case "limits.start":
			err, wrong = parse(&time, text), time != schemas.DefaultStartTime
		case "limits.memory":
			err, wrong = parse(&memory, text), memory != schemas.DefaultMemory
		default:
			err = nil
		}
		if err != nil || wrong {
			t.Errorf("the default of %s is not %s (%v)", e.Name, text, err)
		}
	}
}
