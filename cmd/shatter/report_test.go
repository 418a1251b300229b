package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

const reportSweep = `
name: report
task: learn
goal: {alpha: 0.2, beta: 0.2}
n: {find: true, from: 4, to: 4096, within: 2}
grids:
  - problem: {class: thresholds, domain: [64, 1024], distribution: uniform}
    algorithms: [expmech/em, baseline/erm]
    privacy: {epsilon: [1, 2]}
  - problem: {class: matrix, file: '<img src=x onerror=alert(1)>".csv', distribution: uniform}
    algorithms: [baseline/erm]
`

// A run ends with its page; report and plot write the same bytes again, and none of it is part of
// the result.
func TestReportAndPlot(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	tmp := t.TempDir()
	dir := filepath.Join(tmp, "out")
	write(t, filepath.Join(tmp, `<img src=x onerror=alert(1)>".csv`), "a,b,c,d\n0,1,0,1\n0,0,1,1\n1,1,1,1\n")
	file := write(t, filepath.Join(tmp, "r.yaml"), reportSweep)
	_, errs, code := shatter(t, "run", file, "--out", dir, "--workers", "1")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	before := digest(t, errs)
	path := filepath.Join(dir, "report.html")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		" of 7 cells are decided", "With confidence 95 %", before, "n-thresholds-domain", "curve-thresholds",
		"&lt;img src=x", "table.parquet",
	} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if head, _, _ := bytes.Cut(page, []byte("<script>")); bytes.Contains(head, []byte("<img")) {
		t.Error("the page holds markup from the sweep file")
	}
	if out, errs, code := shatter(t, "report", dir); code != 0 || out != path+"\n" {
		t.Errorf("report: exit %d, %q, %s", code, out, errs)
	}
	if again, err := os.ReadFile(path); err != nil || !bytes.Equal(page, again) {
		t.Errorf("another page, %v", err)
	}
	out, errs, code := shatter(t, "plot", dir, "--format", "svg,pdf,png", "--what", "n", "--width", "4")
	files := strings.Fields(out)
	if code != 0 || len(files) != 9 || !strings.HasPrefix(files[0], filepath.Join(dir, "figures", "n-thresholds-")) {
		t.Fatalf("plot: exit %d, %v, %s", code, files, errs)
	}
	svg, err := os.ReadFile(files[0])
	if err != nil || !bytes.Contains(svg, []byte(`width="288pt"`)) {
		t.Errorf("%.200s, %v", svg, err)
	}
	if _, errs, code = shatter(t, "run", file, "--out", dir, "--workers", "1"); code != 0 || digest(t, errs) != before {
		t.Errorf("after report and plot: exit %d: %s", code, errs)
	}
}

func TestBadReportAndPlot(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"report", empty}, "is not the output folder of a sweep"},
		{[]string{"plot", filepath.Join(empty, "none")}, "name the output folder of a sweep"},
		{[]string{"plot", empty, "--format", "jpg"}, `--format "jpg": one of svg, pdf, png is needed`},
		{[]string{"plot", empty, "--width", "0"}, "--width 0: inches from 1 to 40 are needed"},
		{[]string{"report"}, "wrong number of arguments (0)"},
	} {
		if _, errs, code := shatter(t, c.args...); code != exitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("%v: exit %d: %s", c.args, code, errs)
		}
	}
}
