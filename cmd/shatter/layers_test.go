package main

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/shatterlab/shatter/"

// layers lists the packages of this module in an order in which each imports only packages of the
// groups before its own. A new package has to be given its place here: as early as its imports
// allow.
var layers = [][]string{
	{"schemas", "schemas/pluginv1"},

	// Tools that do not depend on sweeps.
	{"pipeline", "pipeline/dataset", "pipeline/disk", "pipeline/matrix", "pipeline/numeric", "pipeline/wording"},
	{"pipeline/sandbox"},
	{"pipeline/lp", "pipeline/pluginfile"},
	{"pipeline/queue", "pipeline/fleet"},
	{"pipeline/queue/authority"},

	// The mathematics.
	{"pipeline/concept", "pipeline/estimate", "pipeline/privacy", "pipeline/theory"},
	{"pipeline/audit"},
	{"pipeline/task"},

	// The way of a sweep, from its file to its tables.
	{"pipeline/problem/blame"},
	{"pipeline/problem/distribution", "pipeline/problem/noise", "pipeline/problem/population"},
	{"pipeline/problem/adversary"},
	{"pipeline/problem", "pipeline/problem/prior", "pipeline/sweep"},
	{"pipeline/trial"},
	{"pipeline/plan"},
	{"pipeline/ledger"},
	{"pipeline/decision"},
	{"pipeline/cache"},
	{"pipeline/result/sheet"},
	{"pipeline/result/render"},
	{"pipeline/result"},
	{"pipeline/result/compare", "pipeline/result/query", "pipeline/result/report", "pipeline/reference"},

	// Algorithms, and the host of their plugins.
	{"plugins/python"},
	{"plugins/algo"},
	{"plugins/finite"},
	{
		"plugins/baseline", "plugins/boosting", "plugins/expmech", "plugins/halfspace", "plugins/online",
		"plugins/perturbed", "plugins/prediction",
	},
	{"plugins/host"},
	{"plugins/plugintest"},

	// The two sides of the queue.
	{"coordinator/folder", "coordinator/meter", "coordinator/forecast"},
	{"coordinator/pool"},
	{"coordinator/audit"},
	{"coordinator", "worker"},
	{"coordinator/lead"},
	{"cmd/shatter/observe"},
	{"cmd/shatter", "cmd/shatter/simulation"},
}

// testPackages lists the packages for tests, which only each other import.
var testPackages = []string{
	"pipeline/testkit", "pipeline/testkit/chrome", "pipeline/queue/queuetest",
	"pipeline/concept/concepttest", "pipeline/ledger/ledgertest",
	"pipeline/problem/problemtest", "plugins/finite/finitetest",
}

// forbidden lists imports that the layers would allow. Names stand for the packages below them too.
var forbidden = []struct {
	from, to, why string
}{
	{"coordinator", "plugins", "the coordinator runs no plugin"},
	{"coordinator", "pipeline/sweep", "the coordinator gets a plan"},
	{"worker", "pipeline/estimate", "what a trial means is the coordinator's to say"},
	{"worker", "pipeline/plan", "the worker gets jobs"},
	{"worker", "pipeline/result", "what a trial means is the coordinator's to say"},
	{"worker", "pipeline/sweep", "the worker gets jobs"},
	{"pipeline/concept", "schemas", "the mathematics knows no files"},
	{"pipeline/estimate", "schemas", "the mathematics knows no files"},
	{"pipeline/privacy", "schemas", "the mathematics knows no files"},
}

// restricted lists all packages of ours that a package may import. The built-in algorithms have no
// advantage over an author's: they see the SDK and the mathematics.
var restricted = map[string][]string{
	"plugins/algo": {"pipeline/dataset", "pipeline/numeric", "pipeline/theory", "schemas/pluginv1"},
}

func init() {
	mathematics := []string{"pipeline/concept", "pipeline/lp", "pipeline/matrix", "pipeline/numeric", "pipeline/privacy"}
	restricted["plugins/finite"] = append([]string{"plugins/algo"}, mathematics...)
	for _, family := range []string{"baseline", "boosting", "expmech", "halfspace", "online", "perturbed", "prediction"} {
		restricted["plugins/"+family] = append([]string{"plugins/algo", "plugins/finite"}, mathematics...)
	}
}

// libraries lists who may import a library: its types stop there. Names stand for the packages
// below them too.
var libraries = map[string][]string{
	"github.com/nats-io": {"pipeline/queue"},
	"github.com/apache/arrow/go": {
		"pipeline/problem/population",
		"pipeline/result", "pipeline/result/query", "pipeline/result/render", "pipeline/result/sheet",
	},
	"github.com/apache/arrow/go/v17/arrow/flight": {"pipeline/result/query"},
	"github.com/duckdb":                           {"pipeline/result/query"},
	"github.com/klauspost/compress": {
		"pipeline/plan", "pipeline/problem/population", "pipeline/result/sheet",
	},
	"github.com/google/flatbuffers": {
		"pipeline/dataset",
		"pipeline/problem/population",
	}, // which reads Arrow footers
	"github.com/hashicorp/go-hclog":      {"plugins/host"},
	"github.com/hashicorp/go-plugin":     {"plugins/host"},
	"github.com/invopop/jsonschema":      {"schemas"},
	"github.com/prometheus":              {"cmd/shatter/observe"},
	"github.com/spf13":                   {"cmd/shatter", "cmd/shatter/simulation"},
	"go.yaml.in/yaml":                    {"pipeline/sweep"},
	"golang.org/x/term":                  {"cmd/shatter", "cmd/shatter/simulation"},
	"gonum.org/v1/gonum/optimize/convex": {"pipeline/lp"},
	"gonum.org/v1/plot":                  {"pipeline/result/report"},
	"google.golang.org/grpc": {
		"plugins/host",
		"plugins/algo",
		"schemas/pluginv1",
		"pipeline/result/query",
	},
}

// notForAuthors lists libraries that an author's binary does not link.
var notForAuthors = []string{
	"github.com/nats-io", "github.com/apache/arrow", "github.com/apache/thrift", "github.com/hashicorp",
	"gonum.org", "go.yaml.in",
}

// packageImports returns the imports of every package of this module and of all that these need,
// without their tests. Names of our packages lack the module's.
var packageImports = sync.OnceValues(func() (map[string][]string, error) {
	out, err := exec.Command("go", "list", "-deps", "-json=ImportPath,Imports", module+"...").Output()
	if err != nil {
		return nil, err
	}
	imports := map[string][]string{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return imports, nil
		} else if err != nil {
			return nil, err
		}
		for i := range p.Imports {
			p.Imports[i] = strings.TrimPrefix(p.Imports[i], module)
		}
		imports[strings.TrimPrefix(p.ImportPath, module)] = p.Imports
	}
})

// below reports whether a package is one of the named ones or below one.
func below(pkg string, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return pkg == name || strings.HasPrefix(pkg, name+"/")
	})
}

// ours reports whether a package is of this module.
func ours(pkg string) bool {
	return below(pkg, "schemas", "pipeline", "plugins", "coordinator", "worker", "cmd", "deploy")
}

// importsOf returns what packageImports returns, with the packages of this module in order.
func importsOf(t *testing.T) (imports map[string][]string, packages []string) {
	t.Helper()
	imports, err := packageImports()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	packages = slices.DeleteFunc(slices.Sorted(maps.Keys(imports)), func(pkg string) bool { return !ours(pkg) })
	if !slices.Contains(packages, "cmd/shatter") {
		t.Fatalf("go list knows only %q", packages)
	}
	return imports, packages
}

// Imports go down only, package by package.
func TestImportsGoDown(t *testing.T) {
	t.Parallel()
	imports, packages := importsOf(t)
	layer := map[string]int{}
	for i, group := range layers {
		for _, pkg := range group {
			layer[pkg] = i
			if _, exists := imports[pkg]; !exists && pkg != "pipeline" {
				t.Errorf("%s has a layer, but there is no such package", pkg)
			}
		}
	}
	for _, pkg := range packages {
		from, known := layer[pkg]
		if slices.Contains(testPackages, pkg) {
			continue
		}
		if !known {
			t.Errorf("%s has no layer: give it one", pkg)
			continue
		}
		for _, dep := range imports[pkg] {
			to, known := layer[dep]
			switch allowed, isRestricted := restricted[pkg]; {
			case !ours(dep):
			case slices.Contains(testPackages, dep):
				t.Errorf("%s imports %s, which is for tests", pkg, dep)
			case known && to >= from:
				t.Errorf("%s imports %s, which is not below it", pkg, dep)
			case isRestricted && !slices.Contains(allowed, dep):
				t.Errorf("%s imports %s; of ours it may import %v", pkg, dep, allowed)
			}
			for _, f := range forbidden {
				if below(pkg, f.from) && below(dep, f.to) {
					t.Errorf("%s imports %s: %s", pkg, dep, f.why)
				}
			}
		}
	}
}

// The types of a library stop at the packages that need it.
func TestLibrariesStopAtTheirPackage(t *testing.T) {
	t.Parallel()
	imports, packages := importsOf(t)
	for _, pkg := range packages {
		for _, dep := range imports[pkg] {
			for library, allowed := range libraries {
				if strings.HasPrefix(dep, library) && !below(pkg, allowed...) {
					t.Errorf("%s imports %s; only %v may", pkg, dep, allowed)
				}
			}
		}
	}
}

// An author's binary stays small: the SDK brings neither the queue nor Arrow nor Parquet.
func TestAuthorsBinary(t *testing.T) {
	t.Parallel()
	imports, _ := importsOf(t)
	linked := map[string]bool{}
	var link func(pkg string)
	link = func(pkg string) {
		if !linked[pkg] {
			linked[pkg] = true
			for _, dep := range imports[pkg] {
				link(dep)
			}
		}
	}
	link("plugins/algo")
	for pkg := range linked {
		if ours(pkg) && pkg != "plugins/algo" && !slices.Contains(restricted["plugins/algo"], pkg) {
			t.Errorf("plugins/algo links %s", pkg)
		}
		for _, library := range notForAuthors {
			if strings.HasPrefix(pkg, library) {
				t.Errorf("plugins/algo links %s", pkg)
			}
		}
	}
	if !linked["google.golang.org/grpc"] {
		t.Error("plugins/algo does not link gRPC: the imports are not followed")
	}
}
