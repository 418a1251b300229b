package host

import "testing"

// A host tells the authors of plugins for other versions of the protocol what to do.
func TestVersions(t *testing.T) {
	const newer = ", and this shatter speaks version 1; the plugin is newer: update shatter, or build the plugin with " +
		"the SDK of this release. See schemas/CHANGELOG.md"
	for _, c := range []struct {
		oldest, newest int
		sdk, want      string
	}{
		{1, 1, "", ""},
		{0, 2, "", ""},
		{-1, 0, "shatter v0.1.0", "it was built for protocol versions -1 to 0 (shatter v0.1.0), and this shatter speaks " +
			"version 1; the plugin is older: build it again with the SDK of this release. See schemas/CHANGELOG.md"},
		{2, 2, "", "it was built for protocol version 2" + newer},
		{2, 3, "mine", "it was built for protocol versions 2 to 3 (mine)" + newer},
		{2, 1, "", "it says that it speaks protocol versions 2 to 1, which are none"},
	} {
		if got := refuseVersions(c.oldest, c.newest, c.sdk); got != c.want {
			t.Errorf("%d to %d: %q, want %q", c.oldest, c.newest, got, c.want)
		}
	}
}
