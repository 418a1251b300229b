package pluginfile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// BuiltinDigest returns the identity of a built-in algorithm, in the form of a plugin's digest.
// It is a hash of the algorithm's name and version, and of the protocol. The version changes
// whenever the outcomes do, so that builds with equal behavior have equal identities, even if
// their bytes differ. A test compares the outcomes of each version with recorded ones, and
// rechecks of recorded trials detect two builds that disagree.
func BuiltinDigest(name, version string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "shatter built-in algorithm\nprotocol %d\n%s %s\n",
		pluginv1.Version, name, version))
	return hex.EncodeToString(sum[:])
}
