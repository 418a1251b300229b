package host

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A host that speaks version N also runs plugins of N-1, and tells the authors of others what to do.
func TestVersions(t *testing.T) {
	const (
		newer = "; the plugin is newer: update shatter, or build the plugin with the SDK of this release. " +
			"See schemas/CHANGELOG.md"
		older = "; the plugin is older: build it again with the SDK of this release. See schemas/CHANGELOG.md"
	)
	host := versions{2, 3}
	for _, c := range []struct {
		plugin versions
		sdk    string
		want   string
	}{
		{versions{2, 2}, "", ""},
		{versions{3, 3}, "", ""},
		{versions{1, 2}, "", ""},
		{versions{3, 5}, "", ""},
		{versions{1, 9}, "", ""},
		{versions{1, 1}, "", "it was built for protocol version 1, and this shatter speaks versions 2 to 3" + older},
		{versions{0, 1}, "shatter v0.1.0", "it was built for protocol versions 0 to 1 (shatter v0.1.0), " +
			"and this shatter speaks versions 2 to 3" + older},
		{versions{4, 4}, "", "it was built for protocol version 4, and this shatter speaks versions 2 to 3" + newer},
		{versions{4, 5}, "mine", "it was built for protocol versions 4 to 5 (mine), " +
			"and this shatter speaks versions 2 to 3" + newer},
		{versions{3, 2}, "", "it says that it speaks protocol versions 3 to 2, which are none"},
	} {
		if got := host.refuse(c.plugin, c.sdk); got != c.want {
			t.Errorf("%v: %q, want %q", c.plugin, got, c.want)
		}
	}
	if d := cmp.Diff([]int{2, 3}, slices.Sorted(maps.Keys(host.plugins()))); d != "" {
		t.Error(d)
	}
}
