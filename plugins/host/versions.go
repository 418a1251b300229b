package host

import (
	"fmt"

	"github.com/hashicorp/go-plugin"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// versions is a range of versions of the plugin protocol, both ends included.
type versions struct{ oldest, newest int }

// spokenVersions is what this host speaks.
var spokenVersions = versions{pluginv1.OldestVersion, pluginv1.Version}

func (v versions) String() string {
	if v.oldest == v.newest {
		return fmt.Sprintf("version %d", v.newest)
	}
	return fmt.Sprintf("versions %d to %d", v.oldest, v.newest)
}

// refuse describes why a host that speaks v cannot run a plugin that was built for others; "" if it can.
// sdk names what the plugin was built with, "" where that is not known.
func (v versions) refuse(others versions, sdk string) string {
	var remedy string
	switch {
	case others.oldest > others.newest:
		return fmt.Sprintf("it says that it speaks protocol versions %d to %d, which are none", others.oldest, others.newest)
	case others.oldest > v.newest:
		remedy = "the plugin is newer: update shatter, or build the plugin with the SDK of this release"
	case others.newest < v.oldest:
		remedy = "the plugin is older: build it again with the SDK of this release"
	default:
		return ""
	}
	if sdk != "" {
		sdk = " (" + sdk + ")"
	}
	return fmt.Sprintf("it was built for protocol %v%s, and this shatter speaks %v; %s. See schemas/CHANGELOG.md",
		others, sdk, v, remedy)
}

// plugins returns what go-plugin needs to know of each of the versions: all have the same service.
func (v versions) plugins() map[int]plugin.PluginSet {
	sets := make(map[int]plugin.PluginSet)
	for n := v.oldest; n <= v.newest; n++ {
		sets[n] = plugin.PluginSet{pluginv1.Name: &goPlugin{}}
	}
	return sets
}
