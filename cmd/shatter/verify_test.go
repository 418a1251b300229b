package main

import (
	"bytes"
	bits "encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/ledger"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/schemas"
)

const verifySweep = `
name: verify
task: learn
problem: {class: thresholds, domain: 256, distribution: needle, mass: 0.1}
algorithms: [expmech/em]
privacy: {epsilon: [1, 2]}
goal: {alpha: 0.05, beta: 0.05}
n: [100, 200]
trials: 60
seed: 3
`

// snapshot returns the content and the time of every file below a folder.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, path := range files(t, dir) {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all[path] = info.ModTime().String() + string(raw)
	}
	return all
}

func unchanged(t *testing.T, dir string, before map[string]string) {
	t.Helper()
	after := snapshot(t, dir)
	for path := range after {
		if before[path] != after[path] {
			t.Errorf("%s has changed", path)
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d files, there were %d", len(after), len(before))
	}
}

// change rewrites a file.
func change(t *testing.T, path string, edit func([]byte) []byte) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, string(edit(raw)))
}

func flip(at func(raw []byte) int) func([]byte) []byte {
	return func(raw []byte) []byte { raw[at(raw)] ^= 0x10; return raw }
}

func half(raw []byte) int { return len(raw) / 2 }

// message returns a place inside the first message that begins in the second half of a file of
// frames.
func message(raw []byte) int {
	return len(raw)/2 + bytes.Index(raw[len(raw)/2:], []byte("\x93SHTRLG\n")) + 100
}

// version9 makes the value of a metadata key, which is "1", a "9".
func version9(key string) func([]byte) []byte {
	return func(raw []byte) []byte {
		for at := 0; ; {
			i := bytes.Index(raw[at:], []byte(key))
			if i < 0 {
				return raw
			}
			at += i + len(key)
			if j := bytes.IndexAny(raw[at:min(len(raw), at+8)], "123"); j >= 0 {
				raw[at+j] = '9'
			}
		}
	}
}

// outcome9 replaces the version of the ledger's first message by "9", and corrects its checksums.
func outcome9(raw []byte) []byte {
	table := crc32.MakeTable(crc32.Castagnoli)
	msg := raw[24 : 24+bits.LittleEndian.Uint32(raw[8:])]
	copy(msg, bytes.Replace(msg, []byte("\n\x01"+schemas.OutcomeVersion), []byte("\n\x019"), 1))
	bits.LittleEndian.PutUint32(raw[16:], crc32.Checksum(msg, table))
	bits.LittleEndian.PutUint32(raw[20:], crc32.Checksum(raw[:20], table))
	return raw
}

// Verify finds and names every change of a result, and writes nothing.
func TestVerify(t *testing.T) {
	testkit.Serial(t)
	t.Parallel()
	tmp := t.TempDir()
	whole, other := finished(t, verifySweep), finished(t, strings.Replace(verifySweep, "seed: 3", "seed: 4", 1))
	from := func(name string) func([]byte) []byte {
		return func([]byte) []byte {
			raw, err := os.ReadFile(filepath.Join(other, name))
			if err != nil {
				t.Fatal(err)
			}
			return raw
		}
	}
	cases := []struct {
		name, file string
		edit       func([]byte) []byte // nil: the file is removed
		code       int
		want       []string
	}{
		{
			"nothing",
			"table.md",
			bytes.Clone,
			exitDone,
			[]string{"with 240 outcomes, no damage, 0 conflicts", "all 240 that the result counts", ", as the manifest says",
				"20 of 240 recorded trials were run again: all are equal to the last bit"},
		},
		{"value of a table", "curve.csv", from("curve.csv"), exitIntegrity,
			[]string{"DIFFERENT: curve.csv: line 2 (byte "}},
		{"value of Parquet", "curve.parquet", from("curve.parquet"), exitIntegrity,
			[]string{"DIFFERENT: curve.parquet: row 1, column ", " [cell ", ", n 100]"}},
		{"value of a trial", "trials.parquet", from("trials.parquet"), exitIntegrity,
			[]string{"DIFFERENT: trials.parquet: row ", ", repetition "}},
		{"damaged Parquet", "table.parquet", flip(half), exitIntegrity, []string{"DIFFERENT: table.parquet: ", "(byte "}},
		{
			"short Parquet",
			"table.parquet",
			func(raw []byte) []byte { return raw[:len(raw)/2] },
			exitIntegrity,
			[]string{"DIFFERENT: table.parquet: it cannot be read"},
		},
		{"missing trials", "trials.parquet", nil, exitIntegrity,
			[]string{"DIFFERENT: trials.parquet: it is missing", "8 of 9 are equal"}},
		{
			"sweep file",
			"sweep.yaml",
			func(raw []byte) []byte { return append(raw, "# mine\n"...) },
			exitIntegrity,
			[]string{"DIFFERENT: sweep.yaml: line 11 (byte "},
		},
		{
			"text",
			"table.md",
			func(raw []byte) []byte { return append(raw, "mine\n"...) },
			exitIntegrity,
			[]string{"DIFFERENT: table.md: line "},
		},
		{"digest", "manifest.json", func(raw []byte) []byte {
			return bytes.Replace(raw, []byte(`"digest": "`), []byte(`"digest": "0`), 1)
		}, exitIntegrity, []string{"DIFFERENTLY 0"}},
		{"no manifest", "manifest.json", nil, exitIntegrity, []string{"the manifest gives NONE"}},
		{"no result", "table.parquet", nil, exitIntegrity, []string{"DIFFERENT: table.parquet: it is missing"}},
		// Frames are multiples of 8 bytes long, so that this cuts through one.
		{"truncated ledger", "ledger/0001.log", func(raw []byte) []byte { return raw[:len(raw)/24*8+4] }, exitIntegrity,
			[]string{"DAMAGED: a torn tail", "UNDECIDED, the first is ", "run the sweep again"}},
		{"edited ledger", "ledger/0001.log", flip(message), exitIntegrity,
			[]string{"DAMAGED: 0001.log: ", "checksum does not match", "UNDECIDED"}},
		{"empty ledger", "ledger/0001.log", nil, exitIntegrity,
			[]string{"0 frames with 0 outcomes", "UNDECIDED", "no trial was run again"}},
		{"no identity", "ledger/sweep.json", nil, exitUsage, []string{"it holds no ledger/sweep.json"}},
		{
			"damaged identity",
			"ledger/sweep.json",
			func(raw []byte) []byte { return raw[:len(raw)/2] },
			exitUsage,
			[]string{"it is damaged"},
		},
		{"other result version", "curve.parquet", version9("shatter.result"), exitUsage,
			[]string{`curve.parquet" is of version "9" of its format, not "` + schemas.ResultVersion + `"`, "use the release that made it"}},
		{"other outcome version", "ledger/0001.log", outcome9, exitUsage,
			[]string{
				`it is of version "9" of its format, not "` + schemas.OutcomeVersion + `"`, "use the release (shatter ", "--fresh",
			}},
		{"other folder version", "ledger/sweep.json", func(raw []byte) []byte {
			return bytes.Replace(raw, []byte(`"format":2`), []byte(`"format":9`), 1)
		}, exitUsage, []string{`version "9"`}},
	}
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(tmp, fmt.Sprint(i))
			if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			if path := filepath.Join(dir, c.file); c.edit != nil {
				change(t, path, c.edit)
			} else if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			before := snapshot(t, dir)
			sample := "0"
			if c.name == "nothing" {
				sample = "20"
			}
			out, errs, code := shatter(t, "verify", dir, "--workers", "1", "--sample", sample)
			if code != c.code {
				t.Errorf("exit %d, want %d: %s%s", code, c.code, out, errs)
			}
			for _, want := range c.want {
				if !strings.Contains(out+errs, want) {
					t.Errorf("%q is not said: %s%s", want, out, errs)
				}
			}
			unchanged(t, dir, before)
		})
	}
}

// A search, games, and a plugin and data whose paths are relative: all verify, from any working
// directory, also while a run holds the lock; and data that has moved is asked for.
func TestVerifyAnywhere(t *testing.T) {
	testkit.Long(t)
	tmp := t.TempDir()
	at := filepath.Join(tmp, "sweeps")
	if err := os.Mkdir(at, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(thirdparty(t), filepath.Join(at, "plugin")); err != nil {
		t.Fatal(err)
	}
	data := "a,b,y\n"
	for i := range 40 {
		data += fmt.Sprintf("%d,%d,%s\n", i%7, i%5, map[bool]string{true: "yes", false: "no"}[i%7 > i%5])
	}
	write(t, filepath.Join(at, "data.csv"), data)
	write(t, filepath.Join(at, "s.yaml"), `name: anywhere
task: learn
plugins: [plugin]
grids:
  - problem: {class: halfspace, data: {file: data.csv, label: y, positive: yes, scale: 10}}
    algorithms: [{use: third/error, one_in: 3}, {use: third/exit, one_in: 12}]
    goal: {alpha: 0.1, beta: 0.1, reference: 0}
    n: [10]
    trials: 20
  - problem: {class: thresholds, domain: 256, distribution: needle, mass: 0.1}
    algorithms: [expmech/em]
    privacy: {epsilon: 1}
    goal: {alpha: 0.05, beta: 0.05}
    n: {from: 16, to: 4096, within: 2}
`)
	t.Chdir(tmp)
	_, errs, code := shatter(t, "run", "sweeps/s.yaml", "--out", "out", "--workers", "2")
	failed := regexp.MustCompile(`"crash", the first is ((\w+)/10/\d+)`).FindStringSubmatch(errs)
	if code != exitUnfinished || failed == nil {
		t.Fatalf("exit %d: %s", code, errs)
	}
	t.Chdir(t.TempDir())
	out := filepath.Join(tmp, "out")
	var state struct{ ID string }
	raw, err := os.ReadFile(filepath.Join(out, "ledger", "sweep.json"))
	if err != nil || json.Unmarshal(raw, &state) != nil {
		t.Fatal(err)
	}
	held, _, err := ledger.Open(filepath.Join(out, "ledger"), state.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	before := snapshot(t, out)
	if text, errs, code := shatter(t, "verify", out, "--sample", "100%"); code != 0 ||
		!strings.Contains(text, "all are equal to the last bit") {
		t.Errorf("exit %d: %s%s", code, text, errs)
	}
	text, errs, code := shatter(t, "trial", out, failed[1])
	for _, want := range []string{"crash", "exit status 3", "equal to the last bit"} {
		if code != 0 || !strings.Contains(text, want) {
			t.Errorf("failed trial: exit %d, want %q: %s%s", code, want, text, errs)
		}
	}
	search := fmt.Sprint(table(t, out)[2]["cell"])
	text, errs, code = shatter(t, "trial", out, search+"/17/3", "-o", "json")
	var got struct {
		Outcome  struct{ Status string }
		Recorded *struct{}
		Equal    *bool
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil || code != 0 || got.Outcome.Status != "ok" ||
		got.Recorded != nil ||
		got.Equal != nil {
		t.Errorf("trial that was never run: exit %d, %v: %s%s", code, err, text, errs)
	}
	for _, c := range [][2]string{
		{"x", "an ID is cell/n/repetition"}, {search + "/5000/0", "n from 16 to 4096"}, {search + "/a/0", "whole numbers"},
		{
			failed[2] + "/11/0", "the cell has n = 10"}, {failed[2] + "/10/20", "repetitions 0 to 19"}, {search[:9] + "x/17/0",
			"did you mean",
		},
	} {
		expect(t, exitUsage, []string{c[1]}, "trial", out, c[0])
	}
	unchanged(t, out, before)

	moved := filepath.Join(tmp, "moved")
	if err := os.Rename(at, moved); err != nil {
		t.Fatal(err)
	}
	expect(t, exitUsage, []string{filepath.Join(at, "plugin"), "--base"}, "trial", out, failed[1])
	if text, errs, code := shatter(t, "trial", out, failed[1], "--base", moved); code != 0 {
		t.Errorf("--base: exit %d: %s%s", code, text, errs)
	}
	write(t, filepath.Join(moved, "data.csv"), data+"1,1,no\n")
	expect(
		t,
		exitUsage,
		[]string{filepath.Join(moved, "data.csv"), "is not the one that the sweep was run with", "put that one back"},
		"verify",
		out,
		"--base",
		moved,
	)
}
