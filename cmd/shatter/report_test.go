package main

import (
	"path/filepath"
	"strings"
	"testing"
)

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
