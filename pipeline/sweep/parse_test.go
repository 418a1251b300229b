package sweep

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/schemas"
)

func TestParseExample(t *testing.T) {
	f, err := Parse("sweep.yaml", []byte(testkit.ReadFile(t, "../../schemas/testdata/halfspace-margin.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	one := schemas.NumberSeed(1)
	want := schemas.Sweep{
		Name: "halfspace-margin",
		Task: "learn",
		Seed: &one,
		Grid: schemas.Grid{
			Problem: &schemas.ProblemSpec{
				Class:        schemas.Axis[string]{"halfspace"},
				Dim:          schemas.Axis[int]{10, 50},
				Margin:       schemas.Axis[float64]{0.1},
				Distribution: schemas.Axis[string]{"skew"},
			},
			Algorithms: schemas.Axis[schemas.AlgorithmUse]{
				{Use: "boosting/hs-stl"},
				{Use: "boosting/hs-stl", As: "hs-stl-400", Params: map[string]schemas.Axis[schemas.Value]{"rounds": {{Text: "400"}}}},
				{Use: "baseline/perceptron"},
			},
			Privacy: &schemas.Privacy{Epsilon: schemas.Axis[float64]{0.5, 1, 2}, Delta: schemas.Axis[float64]{1e-6}},
			Goal:    &schemas.Goal{Alpha: schemas.Axis[float64]{0.1}, Beta: schemas.Axis[float64]{0.1}},
			N:       &schemas.SampleSizes{From: 64, To: 1e6, Within: 1.5, Confidence: 0.95},
			Trials:  &schemas.Trials{Max: 50000},
			Exclude: []map[string]schemas.Axis[schemas.Value]{{"algorithm": {{Text: "hs-stl-400"}}, "d": {{Text: "50"}}}},
		},
	}
	sameSeed := cmp.Comparer(func(a, b schemas.Seed) bool { return a == b })
	if diff := cmp.Diff(want, f.Sweep, sameSeed); diff != "" {
		t.Error(diff)
	}
}

func TestParseExamples(t *testing.T) {
	files, err := filepath.Glob("../../schemas/testdata/*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse(file, src); err != nil {
			t.Errorf("%v", err)
		}
	}
}

// base is a sweep file to break: more keys can follow it.
const base = `name: x
problem: {class: points, domain: 64, distribution: uniform}
algorithms: [expmech/em]
goal: {alpha: 0.1, beta: 0.1}
n: [100]
`

func TestParseMistakes(t *testing.T) {
	for _, tt := range []struct {
		name, src string
		want      []string
	}{
		{"nothing", ``, []string{`s: the file is empty`}},
		{"only a comment", "# x\n", []string{`s: the file is empty`}},
		{"a list", `[1]`, []string{`s:1:1: a mapping (key: value) was expected, not a list`}},
		{"syntax", "name: [", []string{`s:2:1: not YAML: while parsing a flow node: did not find expected node content`}},
		{"a tab", "name: x\nproblem:\n\tclass: points\n", []string{
			`s:3:1: not YAML: a tab at the beginning of the line: YAML is indented by spaces`}},
		{"two documents", base + "---\nname: y\n", []string{`s:6:1: a second document: a sweep file has one`}},
		{"unknown key", base + "trial: 5", []string{`s:6:1: trial: unknown key, did you mean "trials" or "limits.trial"?`}},
		{"key of another mapping", base + "epsilon: 1", []string{`s:6:1: epsilon: unknown key, did you mean "privacy.epsilon"?`}},
		{"unknown inner key", base + "privacy: {epsilon: 1, dleta: 2}", []string{`s:6:23: privacy.dleta: unknown key, did you mean "delta"?`}},
		{"far from any key", base + "limits: {wombats: 1}", []string{
			`s:6:10: limits.wombats: unknown key; there is trial, start, memory`}},
		{"duplicate key", base + "goal: {alpha: 1}", []string{`s:6:1: goal: the key is given twice: it is already at ` +
			`line 4`}},
		{"key of the top level in a block", base + "grids: [{seed: 1}]", []string{`s:6:10: grids[0].seed: unknown key: it belongs to the top level of the file`}},
		{"too many exclusions", base + "exclude: [" + strings.Repeat("{d: 1}, ", 1000) + "{d: 1}]", []string{
			`s:6:10: exclude: the list has 1001 items; at most 1000 are allowed`}},
		{"merge key", base + "<<: {seed: 1}", []string{
			`s:6:1: <<: unknown key; there is name, task, seed, plugins, problem, algorithms, privacy, goal, n, search, ` +
				`trials, queries, rounds, adversary, zip, exclude, limits, fits, grids`}},
		{"alias", base + "privacy: &p {epsilon: 1}\nlimits: *p", []string{
			`s:6:10: privacy: anchors and aliases (& and *) are not used in sweep files: write the value out, or use grids`,
			`s:7:9: limits: anchors and aliases (& and *) are not used in sweep files: write the value out, or use grids`}},
		{"tag", base + "seed: !!int 5", []string{`s:6:7: seed: tags (!!int) are not used in sweep files`}},
		{"key that is a list", base + "? [a]\n: 1", []string{`s:6:3: a key must be a plain word`}},
		{"null", base + "privacy:", []string{`s:6:9: privacy: no value: give one, or remove the key`}},
		{"text for a number", base + "seed: one", []string{`s:6:7: seed: "one" is not a whole number, nor the word secret`}},
		{"quoted number", base + "trials: '1'", []string{`s:6:9: trials: a whole number was expected, not the text "1"`}},
		{"word for sample sizes", strings.Replace(base, "[100]", "find", 1), []string{
			`s:5:4: n: "find" is not a whole number, nor a mapping (from, to, within, confidence, monotone)`}},
		{"special character", base + "exclude: {a: >50K}", []string{`s:6:14: not YAML: while scanning for the next token: found ` +
			`character that cannot start any token; put text that begins with a special character in quotes`}},
		{"key of elsewhere", base + "privacy: {max: 2}", []string{
			`s:6:11: privacy.max: unknown key, did you mean "trials.max"? Here there is epsilon, delta`}},
		{"fraction", base + "seed: 1.5", []string{`s:6:7: seed: 1.5 is not a whole number, nor the word secret`}},
		{"negative", base + "seed: -1", []string{`s:6:7: seed: -1 is outside [0, inf)`}},
		{"neither number nor secret", base + "seed: Secret", []string{
			`s:6:7: seed: "Secret" is not a whole number, nor the word secret`}},
		{"seed beyond 64 bits", base + "seed: 18446744073709551616", []string{
			`s:6:7: seed: 18446744073709551616 is too large`}},
		{"octal", base + "seed: 010", []string{`s:6:7: seed: "010" is not a whole number, nor the word secret`}},
		{"list for a value", base + "seed: [1]", []string{`s:6:7: seed: a single value was expected, not a list; ` +
			"for another seed run the sweep again: shatter run FILE seed=2 --out DIR"}},
		{"number for text", "name: 12\n" + base[8:], []string{`s:1:7: name: text was expected, not the number 12: put it in quotes`}},
		{"value for a mapping", base + "privacy: 1", []string{`s:6:10: privacy: a mapping (epsilon, delta) was expected, not the number 1`}},
		{"mapping for a list", base + "zip: {d: margin}", []string{`s:6:6: zip: a list was expected, not a mapping`}},
		{"bad name", "name: a/b\n" + base[8:], []string{`s:1:7: name: "a/b" is not a name: it begins with a letter or digit and matches ^[A-Za-z0-9][A-Za-z0-9_-]*$, for example a-b`}},
		{"unknown value", base + "task: lern", []string{`s:6:7: task: unknown value "lern", did you mean "learn"?`}},
		{"unknown class", strings.Replace(base, "points", "tresholds", 1), []string{`s:2:18: problem.class: unknown value "tresholds", did you mean "thresholds"?`}},
		{"n below 1", strings.Replace(base, "[100]", "[100, 0, -5]", 1), []string{
			`s:5:10: n[1]: 0 is outside [1, 1000000000]`, `s:5:13: n[2]: -5 is outside [1, 1000000000]`}},
		{"n twice", strings.Replace(base, "[100]", "[100, 1e2]", 1), []string{`s:5:10: n: 1e2 is given twice, as item 1 and as item 2`}},
		{"probability 1", strings.Replace(base, "0.1, beta: 0.1", "1, beta: 0", 1), []string{
			`s:4:15: goal.alpha: 1 is outside (0, 0.5): coins reach an error of 1/2 without data`, `s:4:24: goal.beta: 0 is outside (0, 1)`}},
		{"not a number", base + "privacy: {epsilon: .nan, delta: [.inf, nan]}", []string{
			`s:6:20: privacy.epsilon: .nan is not a finite number`, `s:6:34: privacy.delta[0]: .inf is not a finite number`,
			`s:6:40: privacy.delta[1]: "nan" is not a number`}},
		{"empty axis", strings.Replace(base, "64", "[]", 1), []string{`s:2:34: problem.domain: the list is empty: give at least one value`}},
		{"empty grids", base + "grids: []", []string{`s:6:8: grids: the list is empty: give at least one value`}},
		{"domain", strings.Replace(base, "64", "2^^6", 1), []string{`s:2:34: problem.domain: "2^^6" is not a whole number`}},
		{"limits", base + "limits: {trial: 10, memory: lots}", []string{
			`s:6:17: limits.trial: "10" is not a time: write it with a unit, like 90s, 10m or 1h`,
			`s:6:29: limits.memory: "lots" is not an amount of memory: write it like 512 MiB or 2 GiB`}},
		{"reference", strings.Replace(base, "beta: 0.1", "beta: 0.1, reference: bets", 1), []string{
			`s:4:42: goal.reference: "bets" is neither best nor a number`}},
		{"missing keys", "task: learn", []string{`s:1:1: "name" is needed`, `s:1:1: "problem" is needed`, `s:1:1: "algorithms" is needed`,
			`s:1:1: "n" is needed: a list of sample sizes, or {from: 16, to: 1e6} to search n*`,
			`s:1:1: "goal" is needed to search: {alpha: 0.1, beta: 0.05} makes an excess error of at most 0.1 a success`}},
		{"missing in a block", base + "grids:\n  - goal: {alpha: 0.2}\n", []string{
			`s:7:11: grids[0].goal: "beta" is needed: the allowed failure probability (the goal of a block replaces the ` +
				`whole goal at the top level)`}},
		{"missing use", strings.Replace(base, "expmech/em", "{as: y}", 1), []string{`s:3:14: algorithms[0]: "use" is needed: the algorithm's name, next to its parameters, {use: boosting/hs-stl, rounds: 50}`}},
		{"max for a list", base + "trials: {max: 5}", []string{
			`s:6:9: trials: {max: ...} belongs to a search, "n: {from: 16, to: 1e6}"; with a list of n write ` +
				`the number of repetitions, "trials: 200"`}},
		{"number for a search", strings.Replace(base, "[100]", "{from: 16, to: 1e6}", 1) + "trials: 5", []string{
			`s:6:9: trials: with a search for n* write the number of trials of one search, "trials: {max: 50000}"`}},
		{"former spellings", strings.NewReplacer("[100]", "{find: true, from: 4}", "beta: 0.1", "beta: 0.1, above: 0").
			Replace(base) +
			"find: epsilon", []string{
			`s:4:31: goal.above: unknown key: it is called "reference" now`,
			`s:5:5: n.find: unknown key: remove it: {from, to, within} is a search`,
			`s:6:1: find: unknown key: it is called "search" now`}},
		{"empty range", strings.Replace(base, "[100]", "{from: 500, to: 500}", 1), []string{
			`s:5:4: n: from 500 is not below to 500`}},
		{"keys of other tasks", base + "rounds: 5\nqueries: 7\nadversary: {kind: tree}", []string{
			`s:6:9: rounds: belongs to task online, but the rounds of an algorithm stand next to its use`,
			`s:7:10: queries: belongs to the tasks predict and audit-predict`,
			`s:8:12: adversary: belongs to the tasks predict and online`}},
		{"file of another class", strings.Replace(base, "points", "points, file: a.csv", 1), []string{
			`s:2:32: problem.file: belongs to the class matrix; for a dataset use problem.data.file`}},
		{"predict without a game", base + "task: predict", []string{`s:1:1: "queries" is needed in task predict: how many are asked`,
			`s:1:1: "adversary" is needed in task predict: {kind: stochastic} asks fresh points of the distribution`}},
		{"online without rounds", base + "task: online", []string{`s:1:1: "rounds" is needed: in task online it takes the place of n`,
			`s:1:1: "adversary" is needed in task online: {kind: planted, rate: 0.05} plays points of the ` +
				`distribution, labelled by a target`,
			`s:4:7: goal: in task online a goal requires a search: add "search: rounds" to search the number of ` +
				`rounds from which on the regret per round is at most alpha, or leave goal out`,
			`s:5:4: n: not allowed in task online; list the game lengths under "rounds" instead`}},
		{"many at once", "nam: x\nseed: y\n" + strings.Replace(base, "alpha: 0.1", "alpha: 7", 1), []string{
			`s:1:1: nam: unknown key, did you mean "name"?`, `s:2:7: seed: "y" is not a whole number, nor the word secret`, `s:6:15: goal.alpha: 7 is outside (0, 0.5): coins reach an error of 1/2 without data`}},
		{"bad range of a column", strings.Replace(base, "distribution: uniform", "data: {file: a.csv, label: y, positive: 1, scale: {a: [2, 1], b: 0, c: [1], d: x}}", 1), []string{
			`s:2:92: problem.data.scale.a: a range is [low, high] with low below high`, `s:2:103: problem.data.scale.b: 0 is outside (0, inf)`,
			`s:2:109: problem.data.scale.c: a range is [low, high] with low below high`, `s:2:117: problem.data.scale.d: "x" is not a number`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("s", []byte(tt.src))
			var problems Mistakes
			if !errors.As(err, &problems) {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff(strings.Join(tt.want, "\n"), err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Every key of the file, misspelt in several ways, is refused at its place with a suggestion of the
// key.
func TestEveryTypoIsFound(t *testing.T) {
	count := 0
	for _, path := range keysOf(reflect.TypeFor[schemas.Sweep](), nil) {
		key := path[len(path)-1]
		typos := []string{key + "x", "x" + key, key + key[len(key)-1:]}
		if len(key) > 2 {
			typos = append(typos, key[1:2]+key[:1]+key[2:], key[:len(key)-1], strings.ToUpper(key))
		}
		for _, typo := range typos {
			if knownKey(typo, path[:len(path)-1]) {
				continue
			}
			count++
			src, column := "name: t\n", 1
			if len(path) > 1 {
				src += strings.Join(path[:len(path)-1], ": {") + ": {"
				column = len(src) - len("name: t\n") + 1
			}
			src += typo + ": 1" + strings.Repeat("}", len(path)-1)
			_, err := Parse("s", []byte(src))
			where := strings.Join(append(append([]string(nil), path[:len(path)-1]...), typo), ".")
			want := fmt.Sprintf("s:2:%d: %s: unknown key, did you mean %q", column, where, key)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: error\n%v\nwithout\n%s", src, err, want)
			}
		}
	}
	if count < 150 {
		t.Errorf("only %d typos were tried", count)
	}
}

// keysOf lists the paths of all keys below t that are reachable through single values.
func keysOf(t reflect.Type, path []string) [][]string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice && t.Name() != "" {
		t = t.Elem()
	}
	var all [][]string
	if t.Kind() != reflect.Struct {
		return nil
	}
	for _, f := range KeysOf(t) {
		if f.Name == "" || t == reflect.TypeFor[schemas.AlgorithmUse]() { // there, an unknown key is a parameter
			continue
		}
		here := append(append([]string(nil), path...), f.Name)
		all = append(all, here)
		all = append(all, keysOf(f.Type, here)...)
	}
	return all
}

// knownKey reports whether the word is a right key below path.
func knownKey(word string, path []string) bool {
	want := strings.Join(append(append([]string(nil), path...), word), ".")
	for _, p := range keysOf(reflect.TypeFor[schemas.Sweep](), nil) {
		if strings.Join(p, ".") == want {
			return true
		}
	}
	return false
}

func TestParseIsBounded(t *testing.T) {
	bomb := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'p'; c++ {
		last := fmt.Sprintf("*%c", c-1)
		bomb += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.Repeat(last+", ", 8)+last)
	}
	for _, tt := range []struct{ name, src, want string }{
		{"aliases", bomb, "unknown key"},
		{"aliases of a known key", strings.ReplaceAll(bomb, "b: ", "algorithms: "), "anchors and aliases"},
		{"size", "name: x\n#" + strings.Repeat("x", MaxSource), "more than the 1048576"},
		{"depth", "name: " + strings.Repeat("[", 200_000), "not YAML"},
		{"depth of mappings", "name: " + strings.Repeat("{a: ", 200_000), "not YAML"},
		{"indents", strings.Repeat("- ", 200_000), "not YAML"},
		{"many mistakes", "name: x\nn: [" + strings.Repeat("0, ", 100_000) + "0]", "and 99953 more"},
		{"long key", "name: x\n? " + strings.Repeat("k", 500_000) + "\n: 1", "unknown key"},
		{"many keys", func() string {
			var b strings.Builder
			for i := range 50_000 {
				fmt.Fprintf(&b, "key%d: 1\n", i)
			}
			return b.String()
		}(), "unknown key"},
	} {
		_, err := Parse("s", []byte(tt.src))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %.300q, want one with %q", tt.name, fmt.Sprint(err), tt.want)
		}
		if err != nil && len(err.Error()) > 20_000 {
			t.Errorf("%s: an error of %d bytes", tt.name, len(err.Error()))
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"halfspace-margin", "grids", "predict", "online"} {
		f.Add([]byte(testkit.ReadFile(f, "../../schemas/testdata/"+name+".yaml")))
	}
	f.Add([]byte("a: &a [*a]\n<<: *a\n"))
	f.Add([]byte("? {a: [}\n: !!binary x\n--- \n%YAML 1.1\n"))
	f.Add([]byte(base + "grids:\n - exclude: [{a: [1, 2]}]\n   zip: [[d, d]]\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		file, err := Parse("s", src)
		if err == nil {
			if file.Sweep.Name == "" {
				t.Error("a sweep without a name")
			}
			return
		}
		var problems Mistakes
		if !errors.As(err, &problems) || len(problems) == 0 {
			t.Fatalf("error %v", err)
		}
		for _, p := range problems {
			if p.Message == "" || p.File != "s" || p.Line < 0 || p.Column < 0 {
				t.Errorf("mistake %+v", p)
			}
		}
	})
}
