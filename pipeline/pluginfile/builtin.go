package pluginfile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/shatterlab/shatter/schemas/pluginv1"
)

// BuiltinDigest returns the identity of a built-in algorithm, which has the form of a plugin's
// digest. It is made of the algorithm's name and its version, which changes whenever its outcomes
// do, and of the protocol: so builds that behave alike agree on it, whatever their bytes are. A test
// compares the outcomes of each version with recorded ones, and rechecks of recorded trials find
// two builds that disagree.
func BuiltinDigest(name, version string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "shatter built-in algorithm\nprotocol %d\n%s %s\n",
		pluginv1.Version, name, version))
	return hex.EncodeToString(sum[:])
}
