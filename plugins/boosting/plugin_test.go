package boosting

import (
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/plugins/algo"
	"github.com/shatterlab/shatter/plugins/plugintest"
)

// TestPlugins runs the acceptance suite.
func TestPlugins(t *testing.T) {
	testkit.Long(t)
	for name, plugin := range map[string]algo.Plugin{
		"hs-stl": hsStL(), "centering": centering(), "lazy-bregman": lazyBregman(), "bregman": bregman(),
		"smooth": smooth(), "drv": drv(), "boost": boost(), "m-eta": noised(),
		"private-stumps": privateStumps(),
	} {
		t.Run(name, func(t *testing.T) { plugintest.Run(t, plugin) })
	}
}
