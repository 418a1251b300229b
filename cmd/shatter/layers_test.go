package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

const module = "github.com/shatterlab/shatter/"

// layerOf gives the layer of a package of ours: imports go down only, and never sideways between coordinator and worker.
func layerOf(pkg string) int {
	switch p := strings.TrimPrefix(pkg, module); {
	case p == "schemas" || strings.HasPrefix(p, "schemas/"):
		return 0
	case p == "pipeline" || strings.HasPrefix(p, "pipeline/"):
		return 1
	case strings.HasPrefix(p, "plugins/"):
		return 2
	case p == "coordinator" || strings.HasPrefix(p, "coordinator/") || p == "worker":
		return 3
	case strings.HasPrefix(p, "cmd/"):
		return 4
	}
	return -1
}

func golist(t *testing.T, args ...string) []string {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list"}, args...)...).Output()
	if err != nil {
		t.Fatalf("go list %v: %v", args, err)
	}
	return strings.Fields(string(out))
}

func imports(t *testing.T, pkg string) []string {
	return golist(t, "-f", `{{join .Imports "\n"}}`, pkg)
}

func TestImportsGoDown(t *testing.T) {
	testkit.Long(t)
	for _, pkg := range golist(t, module+"...") {
		from := layerOf(pkg)
		if from < 0 {
			t.Errorf("%s belongs to no layer", pkg)
		}
		for _, dep := range imports(t, pkg) {
			if !strings.HasPrefix(dep, module) {
				continue
			}
			inside := strings.HasPrefix(dep, pkg+"/") // coordinator's own packages
			if to := layerOf(dep); to > from || (to == from && from == 3 && !inside) {
				t.Errorf("%s (layer %d) imports %s (layer %d)", pkg, from, dep, to)
			}
		}
	}
}

// only lists who may import a library directly: its types stop there.
var only = map[string][]string{
	"github.com/nats-io/nats":                     {"pipeline/bus"},
	"github.com/hashicorp/go-plugin":              {"plugins/host", "plugins/algo"},
	"github.com/apache/arrow/go":                  {"pipeline/problem/population", "pipeline/ledger", "pipeline/dataset", "pipeline/query", "schemas", "cmd/shatter"},
	"google.golang.org/grpc":                      {"plugins/host", "plugins/algo", "schemas/pluginv1", "pipeline/query"},
	"github.com/duckdb":                           {"pipeline/query"},
	"gonum.org/v1/plot":                           {"pipeline/report"},
	"github.com/apache/arrow/go/v17/arrow/flight": {"pipeline/query"},
	"github.com/spf13/cobra":                      {"cmd/shatter"},
	"go.yaml.in/yaml":                             {"pipeline", "schemas"},
	"github.com/google/flatbuffers":               {"pipeline/dataset", "pipeline/problem/population"}, // the latter walks an Arrow file's footer before the library may see it
	"github.com/invopop/jsonschema":               {"schemas"},
	"github.com/hashicorp/go-hclog":               {"plugins/host", "plugins/algo"},
	"gonum.org/v1/gonum/optimize/convex":          {"pipeline/concept"},
}

func TestLibrariesStopAtTheirPackage(t *testing.T) {
	testkit.Long(t)
	for _, pkg := range golist(t, module+"...") {
		for _, dep := range imports(t, pkg) {
			for lib, allowed := range only {
				if strings.HasPrefix(dep, lib) && !slices.Contains(allowed, strings.TrimPrefix(pkg, module)) {
					t.Errorf("%s imports %s; only %v may", pkg, dep, allowed)
				}
			}
		}
	}
}

// An author's binary stays small: the SDK brings neither the queue nor Arrow nor Parquet.
func TestAuthorsBinary(t *testing.T) {
	testkit.Long(t)
	for _, dep := range golist(t, "-deps", module+"plugins/algo") {
		for _, lib := range []string{"github.com/nats-io", "github.com/apache/arrow", "github.com/apache/thrift", "gonum.org", "go.yaml.in"} {
			if strings.HasPrefix(dep, lib) {
				t.Errorf("plugins/algo links %s", dep)
			}
		}
		if l := layerOf(dep); strings.HasPrefix(dep, module) && dep != module+"plugins/algo" && dep != module+"schemas/pluginv1" && dep != module+"pipeline/dataset" {
			t.Errorf("plugins/algo links %s (layer %d)", dep, l)
		}
	}
}

// The built-in algorithms have no advantage over an author's: they see the SDK and the mathematics, nothing else.
func TestBuiltinsSeeOnlyTheSDK(t *testing.T) {
	testkit.Long(t)
	allowed := []string{"plugins/algo", "plugins/finite", "pipeline/concept", "pipeline/lp", "pipeline/numeric", "pipeline/privacy"}
	for _, family := range []string{
		"plugins/baseline", "plugins/boosting", "plugins/expmech", "plugins/finite", "plugins/halfspace", "plugins/online",
		"plugins/perturbed", "plugins/prediction",
	} {
		for _, dep := range imports(t, module+family) {
			if strings.HasPrefix(dep, module) && !slices.Contains(allowed, strings.TrimPrefix(dep, module)) {
				t.Errorf("%s imports %s", family, dep)
			}
		}
	}
}
