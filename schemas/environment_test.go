package schemas

import (
	"strings"
	"testing"
)

// Two environments have one identity only if they are equal. Messages name the differences.
func TestEnvironment(t *testing.T) {
	lib := func(version, digest string, files map[string]string) Environment {
		return Environment{
			{Name: "mylib", Version: version, Digest: digest, Files: files}, {Name: "python", Version: "3.13.5"},
		}
	}
	old := lib("1.0", "a", map[string]string{"helper.py": "x", "mylib.py": "y"})
	for want, now := range map[string]Environment{
		"":                              lib("1.0", "a", map[string]string{"helper.py": "x", "mylib.py": "y"}),
		"mylib 1.0 -> 1.1":              lib("1.1", "b", nil),
		"mylib: file helper.py changed": lib("1.0", "b", map[string]string{"helper.py": "z", "mylib.py": "y"}),
		"mylib: file extra.py and 1 more changed": lib("1.0", "b", map[string]string{"extra.py": "x", "mylib.py": "y"}),
		"mylib: its content changed":              lib("1.0", "b", old[0].Files),
		"mylib is gone; numpy 2.1 is new":         {{Name: "numpy", Version: "2.1"}, old[1]},
	} {
		if got := strings.Join(now.Changes(old), "; "); got != want {
			t.Errorf("%v: %q, want %q", now, got, want)
		}
		if id := now.Identify("abc"); (id == old.Identify("abc")) != (want == "") || ProgramOf(id) != "abc" {
			t.Errorf("%v has the identity %s", now, id)
		}
	}
	if got := old.String(); got != "mylib 1.0, python 3.13.5" {
		t.Error(got)
	}
	if (Environment)(nil).Identify("abc") != "abc" {
		t.Error("no environment changes the identity")
	}
	for pair, same := range map[[2]string]bool{
		{"abc+1", "abc+1"}: true, {"abc+1", "abc"}: true, {"abc", "abc+1"}: true, {"abc+1", "abc+2"}: false,
		{"abc", "abd"}: false,
	} {
		if SameCode(pair[0], pair[1]) != same {
			t.Errorf("%q: want %v", pair, same)
		}
	}
}
