package transcript

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/shatterlab/shatter/pipeline/plan"
	"github.com/shatterlab/shatter/pipeline/pluginfile"
	"github.com/shatterlab/shatter/pipeline/sweep"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/schemas"
	"github.com/shatterlab/shatter/schemas/pluginv1"
	"github.com/shatterlab/shatter/schemas/transcriptv1"
)

// honest is a source of two algorithms, of a plugin each.
type honest struct{}

func (honest) List(context.Context) ([]plan.Described, error) {
	described := func(plugin, name string) plan.Described {
		return plan.Described{Plugin: plugin, Algorithm: &pluginv1.Algorithm{
			Name: name, Version: "1.2", Tasks: []pluginv1.Task{pluginv1.Task_TASK_LEARN}, Private: name == "own/a",
		}}
	}
	return []plan.Described{described("", "own/a"), described("/third/b", "third/b")}, nil
}

func (honest) Ask(_ context.Context, plugin string, settings []*pluginv1.Setting) ([]*pluginv1.Answer, error) {
	var all []*pluginv1.Answer
	for _, s := range settings {
		a := &pluginv1.Answer{Check: &pluginv1.CheckResponse{}, Bound: &pluginv1.BoundResponse{}}
		if plugin == "" {
			a.Check.Guarantee = &pluginv1.Guarantee{Pure: true, Epsilon: s.GetEpsilon(), Source: "a table"}
			a.Bound.Bounds = []*pluginv1.Bound{{Name: "proved", Source: "a table", Value: 100 / s.GetEpsilon(), Proved: true,
				Premises: []string{"best-reference"}}}
		}
		all = append(all, a)
	}
	return all, nil
}

func (honest) Digest(plugin string) (string, error) { return fmt.Sprintf("digest of %q", plugin), nil }

// sweeps are sweep files over a law, data and class matrices.
var sweeps = map[string]string{
	"law": "problem: {class: thresholds, domain: 8, distribution: uniform, target: each}",
	"data": "problem: {class: halfspace, data: [{file: [d.csv, e.csv], label: y, positive: p, scale: 0.5}], disguise: true}\n" +
		"goal: {alpha: 0.1, beta: 0.1, above: 0}",
	"least error": "problem: {class: stumps, domain: 9, data: {file: f.csv, label: y, positive: p}}\n" +
		"goal: {alpha: 0.05, beta: 0.1, above: [best, 0.2]}",
	"matrix": "problem: {class: matrix, file: m.csv, distribution: uniform, target: [each, random]}",
}

// text returns a sweep file.
func text(problem string) string {
	all := "name: x\nalgorithms: [own/a, third/b]\nprivacy: {epsilon: [1, 2]}\nn: [100]\n" + problem + "\n"
	if !strings.Contains(problem, "goal:") {
		all += "goal: {alpha: 0.1, beta: 0.1}\n"
	}
	return all
}

func resolve(t *testing.T, a plan.Algorithms, p plan.Problems, problem, dir string) (*plan.Plan, error) {
	t.Helper()
	return plan.Resolve(t.Context(), sweep.Read("x.yaml", []byte(text(problem))), a, plan.Options{Dir: dir, Problems: p})
}

// files writes the data files of the sweeps into a folder.
func files(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{
		"d.csv": testkit.CSV(20), "e.csv": testkit.CSV(300), "f.csv": "a,b,y\n1,2,p\n3,4,q\n3,1,p\n8,1,q\n1,2,q\n",
		"m.csv": "u,v,w\n0,0,1\n0,1,1\n1,1,1\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// record returns the plan of a problem, and its transcript.
func record(t *testing.T, problem, dir string) (*plan.Plan, []byte) {
	t.Helper()
	r := NewRecorder(honest{}, plan.Files{})
	p, err := resolve(t, r, r, problem, dir)
	if err != nil {
		t.Fatal(err)
	}
	data, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return p, data
}

// A plan from a transcript is the plan, without plugins and without a single file.
func TestRecall(t *testing.T) {
	everything := cmp.Options{protocmp.Transform(), cmp.Exporter(func(reflect.Type) bool { return true })}
	for name, problem := range sweeps {
		t.Run(name, func(t *testing.T) {
			dir := files(t)
			direct, err := resolve(t, honest{}, nil, problem, dir)
			if err != nil {
				t.Fatal(err)
			}
			recorded, data := record(t, problem, dir)
			if _, again := record(t, problem, dir); !slices.Equal(data, again) {
				t.Error("a second transcript differs")
			}
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			known, err := Recall(data)
			if err != nil {
				t.Fatal(err)
			}
			recalled, err := resolve(t, known, known, problem, dir)
			if err != nil {
				t.Fatal(err)
			}
			for what, got := range map[string]*plan.Plan{"recorded": recorded, "recalled": recalled} {
				if d := cmp.Diff(direct, got, everything); d != "" {
					t.Errorf("%s: %s", what, d)
				}
			}
			want := map[string]string{
				"own/a": pluginfile.BuiltinDigest("own/a", "1.2"), "/third/b": `digest of "/third/b"`,
			}
			if d := cmp.Diff(want, known.Digests()); d != "" {
				t.Error(d)
			}
		})
	}
}

// What a transcript does not answer is said.
func TestMissing(t *testing.T) {
	dir := files(t)
	_, data := record(t, sweeps["data"], dir)
	known, err := Recall(data)
	if err != nil {
		t.Fatal(err)
	}
	_, err = resolve(t, known, known, sweeps["law"], dir)
	missing := new(MissingError)
	if !errors.As(err, &missing) || !strings.Contains(err.Error(), "no answer for a setting of ") {
		t.Errorf("another law: %v", err)
	}
	if _, err = resolve(t, known, known, sweeps["matrix"], dir); err == nil ||
		!strings.Contains(err.Error(), `no answer for a problem over "m.csv"`) {
		t.Errorf("another file: %v", err)
	}
	if _, err := known.Digest("/other"); err == nil {
		t.Error("another plugin has a digest")
	}
}

// A transcript of 1,000 settings with equal answers has these once.
func TestSize(t *testing.T) {
	r := NewRecorder(honest{}, plan.Files{})
	if _, err := r.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		settings := []*pluginv1.Setting{{Algorithm: "third/b", Alpha: float64(i)}}
		if _, err := r.Ask(t.Context(), "/third/b", settings); err != nil {
			t.Fatal(err)
		}
	}
	data, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > 18_000 {
		t.Errorf("%d bytes", len(data))
	}
	if x, err := decode(data); err != nil || len(x.Answers) != 1 {
		t.Errorf("%v answers, %v", x.GetAnswers(), err)
	}
}

// Bytes that are no transcript are refused.
func TestDecode(t *testing.T) {
	packed := func(x *transcriptv1.Transcript) string {
		b, err := encode(x)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	plugin := func(p *transcriptv1.Plugin) *transcriptv1.Transcript {
		return &transcriptv1.Transcript{Plugins: []*transcriptv1.Plugin{p}, Answers: [][]byte{nil}}
	}
	for _, c := range []struct{ data, want string }{
		{"", "it is none"},
		{"shatter transcript 1", "it is none"},
		{strings.Replace(packed(plugin(nil)), "transcript 1", "transcript 2", 1), `it is of version "2" of its format, not "1"`},
		{header + version + "\nrubbish", "unpack it: "},
		{packed(plugin(&transcriptv1.Plugin{Settings: make([]byte, 16)})), "16 bytes of settings do not fit 0 answers"},
		{packed(plugin(&transcriptv1.Plugin{Settings: make([]byte, 16), Answers: []uint32{1}})), "answer 1 is not there"},
		{packed(plugin(&transcriptv1.Plugin{Algorithms: [][]byte{{1}}})), "cannot parse"},
		{packed(&transcriptv1.Transcript{Plugins: []*transcriptv1.Plugin{{}, {}}}), "it stands there twice"},
		{packed(&transcriptv1.Transcript{Answers: [][]byte{make([]byte, 4<<20)}}), "unpack it: "},
	} {
		if _, err := Recall([]byte(c.data)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q: %v, want %q", c.data, err, c.want)
		}
	}
}

// Foreign bytes neither panic nor take more memory than they may.
func FuzzRecall(f *testing.F) {
	for _, x := range []*transcriptv1.Transcript{
		{Answers: [][]byte{{8}, {}}, Plugins: []*transcriptv1.Plugin{
			{
				Digest: "d", Algorithms: [][]byte{{10, 5, 'o', 'w', 'n', '/', 'a', 24, 1}},
				Settings: make([]byte, 16), Answers: []uint32{1},
			},
		}},
		{Problems: []*transcriptv1.Problem{{
			Written: `{"class":"matrix","distribution":"uniform","matrix":{"digest":"","format":""},"noise":{"kind":""}}`, File: "m.csv",
			Resolved: `{"class":"matrix","distribution":"uniform","domain":3,"matrix":{"digest":"aa","format":"csv"},"noise":{"kind":"none"},"target":"random"}`,
			Matrix:   "001011111", Least: &transcriptv1.Least{Error: "none"}, Hypotheses: []string{"a"},
		}, {
			Written: `{"class":"halfspace","data":{"digest":"","format":"","label":"y","positive":"p","scale":{"norm":0.5}},"noise":{"kind":""}}`, File: "d.csv",
			Resolved: `{"class":"halfspace","d":2,"data":{"digest":"aa","format":"csv","label":"y","positive":"p","scale":{"norm":0.5}},"noise":{"kind":"none"}}`,
			Rows:     20, Positive: 3, Pulled: 20,
		}}},
	} {
		b, err := proto.Marshal(x)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = Recall(append([]byte(header+version+"\n"), b...))
		x := new(transcriptv1.Transcript)
		if proto.Unmarshal(b, x) != nil {
			return
		}
		packed, err := encode(x)
		if err != nil {
			return // text that is not UTF-8
		}
		known, err := Recall(packed)
		if err != nil {
			return
		}
		for _, problem := range []schemas.Problem{
			{Class: "matrix", Distribution: "uniform", Matrix: &schemas.Matrix{File: "m.csv"}},
			{Class: "halfspace", Data: &schemas.Data{File: "d.csv", Label: "y", Positive: "p", Scale: schemas.Scale{Norm: 0.5}}},
		} {
			file, _ := problem.File()
			p, err := known.Open(problem, "/"+file)
			if err != nil {
				continue
			}
			_ = p.Public()
			_ = p.Evaluation(0.2, p.Test(0, 0.1), true)
			_ = p.Floor()
			_, _ = known.Least(p)
			_, _ = known.Hypotheses(problem, "/"+file)
		}
		_, _ = known.Ask(t.Context(), "", []*pluginv1.Setting{{}})
	})
}
