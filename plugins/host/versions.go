package host

import (
	"fmt"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// refuseVersions describes why this host cannot run a plugin that was built for the protocol versions
// oldest to newest; "" if it can. sdk names the SDK of the plugin, "" if it is unknown.
func refuseVersions(oldest, newest int, sdk string) string {
	var remedy string
	switch {
	case oldest > newest:
		return fmt.Sprintf("it says that it speaks protocol versions %d to %d, which are none", oldest, newest)
	case oldest > pluginv1.Version:
		remedy = "the plugin is newer: update shatter, or build the plugin with the SDK of this release"
	case newest < pluginv1.Version:
		remedy = "the plugin is older: build it again with the SDK of this release"
	default:
		return ""
	}
	built := fmt.Sprintf("version %d", newest)
	if oldest != newest {
		built = fmt.Sprintf("versions %d to %d", oldest, newest)
	}
	if sdk != "" {
		built += " (" + sdk + ")"
	}
	return fmt.Sprintf("it was built for protocol %s, and this shatter speaks version %d; %s. See schemas/CHANGELOG.md",
		built, pluginv1.Version, remedy)
}
