package plan

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/pipeline/trial"
)

// dataFiles writes the data files of savedSweeps into a folder.
func dataFiles(t testing.TB) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{
		"d.csv": testkit.CSV(20), "f.csv": "a,b,y\n1,2,p\n3,4,q\n3,1,p\n8,1,q\n1,2,q\n", "m.csv": "u,v,w\n0,0,1\n0,1,1\n1,1,1\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const learning = "name: x\nalgorithms: [expmech/em, baseline/erm]\nprivacy: {epsilon: [1, 2]}\n"

// savedSweeps are sweep files over distributions, data and class matrices, with lists and searches.
var savedSweeps = map[string]string{
	"list": learning + "problem: {class: thresholds, domain: 8, distribution: uniform, target: each}\n" +
		"n: [100]\ngoal: {alpha: 0.1, beta: 0.1}\nseed: secret",
	"search": learning + "problem: {class: thresholds, domain: 8, distribution: uniform}\n" +
		"n: {from: 16, to: 1e6}\ngoal: {alpha: 0.1, beta: 0.1}",
	"data": learning + "problem: {class: stumps, domain: 9, data: {file: f.csv, label: y, positive: p}}\nn: [10]\n" +
		"goal: {alpha: 0.05, beta: 0.1, reference: [best, 0.2]}",
	"rows": learning + "problem: {class: halfspace, data: {file: d.csv, label: y, positive: p, scale: 0.5}, disguise: true}\n" +
		"n: [10]\ngoal: {alpha: 0.1, beta: 0.1, reference: 0}",
	"matrix": learning + "problem: {class: matrix, file: m.csv, distribution: uniform, target: [each, random]}\nn: [10]\n" +
		"goal: {alpha: 0.1, beta: 0.1}",
	"fits": fitted, "ladder": ladderBase, "rounds": game + "search: rounds\n", "games": fittedGames,
	"predict": predict,
}

// A decoded plan equals the plan, without plugins and files.
func TestEncode(t *testing.T) {
	everything := cmp.Options{
		protocmp.Transform(), cmp.Exporter(func(reflect.Type) bool { return true }), cmpopts.EquateEmpty(),
		cmpopts.IgnoreFields(Plan{}, "description", "notes", "File"),
	}
	for name, source := range savedSweeps {
		t.Run(name, func(t *testing.T) {
			p := mustResolve(t, source, algorithms(), dataFiles(t))
			p.Cells[0].Bounds = trial.Bounds{{Name: "b", Value: math.Inf(1)}, {Name: "c", Value: 3}}
			digests := map[string]string{"a": "b"}
			saved, err := p.Encode(digests)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := p.Encode(digests); err != nil || !bytes.Equal(saved, again) {
				t.Errorf("written again, the plan has other bytes: %v", err)
			}
			got, known, err := Decode(saved)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(p, got, everything); d != "" || !cmp.Equal(known, digests) {
				t.Errorf("%v %s", known, d)
			}
			last := len(p.Cells) - 1
			if (got.Cells[0].Problem == got.Cells[last].Problem) != (p.Cells[0].Problem == p.Cells[last].Problem) {
				t.Error("cells share other problems")
			}
		})
	}
}

// pack writes a saved plan around JSON.
func pack(t testing.TB, raw []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte(savedHeader+savedVersion+"\n"), w.EncodeAll(raw, nil)...)
}

// Bytes that are not a plan are refused, and so are plans that cannot be run.
func TestDecodeRefuses(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{"", "the file is not a plan"},
		{savedHeader + savedVersion, "the file is not a plan"},
		{savedHeader + "0\n", `the plan is of version "0" of its format, not "` + savedVersion + `"`},
		{savedHeader + savedVersion + "\nrubbish", "decompress: "},
		{string(pack(t, make([]byte, 4<<20))), "decompress: "},
		{string(pack(t, []byte(`{"X": 1}`))), "unknown field"},
		{string(pack(t, []byte(`{}`))), "the plan has no cells"},
	} {
		if _, _, err := Decode([]byte(c.data)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q: %v, want %q", c.data, err, c.want)
		}
	}
	p := mustResolve(t, savedSweeps["ladder"], algorithms(), "")
	saved, err := p.Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want   string
		change func(s *savedPlan)
	}{
		{"cell 1 is empty", func(s *savedPlan) { s.Cells[1].Cell = nil }},
		{"cell 0: shared value 9 is missing", func(s *savedPlan) { s.Cells[0].Problem = 9 }},
		{"cell 0: shared value 0 is missing", func(s *savedPlan) { s.Cells[0].Evaluation = 0 }},
		{"cell 0: message 0 is missing", func(s *savedPlan) { s.Cells[0].Public = 0 }},
		{"cell 0: message -1 is missing", func(s *savedPlan) { s.Cells[0].Bounds = []int{-1} }},
		{"cell 0: task", func(s *savedPlan) { s.Cells[0].Task = "predict" }},
		{"cell 0: the sample sizes", func(s *savedPlan) { s.Cells[0].N = []int64{0} }},
		{"cell 0: the number of trials", func(s *savedPlan) { s.Cells[0].MaxTrials = 0 }},
		{"cell 0: the search over another number", func(s *savedPlan) { s.Cells[0].Position = 9 }},
		{"a search over epsilon has 2 of 3 values", func(s *savedPlan) { s.Cells = s.Cells[1:] }},
		{"a fit has no cell 99", func(s *savedPlan) {
			s.Fits = []Fit{{Groups: []FitGroup{{Points: []FitPoint{{Cell: 99}}}}}}
		}},
	} {
		s, err := unpack(saved)
		if err != nil {
			t.Fatal(err)
		}
		c.change(s)
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := Decode(pack(t, raw)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// Any JSON yields an error or a plan with usable cells.
func FuzzDecode(f *testing.F) {
	for _, name := range []string{"search", "ladder", "games", "predict"} {
		saved, err := mustResolve(f, savedSweeps[name], algorithms(), "").Encode(nil)
		if err != nil {
			f.Fatal(err)
		}
		s, err := unpack(saved)
		if err != nil {
			f.Fatal(err)
		}
		raw, err := json.Marshal(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, _, err := Decode(pack(t, raw))
		if err != nil {
			return
		}
		p.Digest()
		p.Counts()
		for _, c := range p.Cells {
			c.Setting(c.Repetitions())
		}
	})
}
