package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

// The plugins of the gallery pass the acceptance suite, and their sweeps show the results that their page states.
func TestGallery(t *testing.T) {
	testkit.Long(t)
	for _, c := range []struct {
		name, setting string
		shows         func(row map[string]any) bool // true for at least one row
	}{
		{"logistic", "class=halfspace,dim=5,margin=0.1", func(r map[string]any) bool {
			return r["epsilon"] == 2.0 && r["n"] == 400.0 && r["rate"].(float64) >= 0.9
		}},
		{"histogram", "class=thresholds,domain=256", func(r map[string]any) bool {
			return r["n"] == 200.0 && r["rate"].(float64) >= 0.9
		}},
		{"linear", "class=halfspace,dim=5,margin=0.1", func(r map[string]any) bool {
			return r["n"] == 400.0 && r["rate"].(float64) >= 0.9
		}},
		{"mean", "class=halfspace,dim=5,margin=0.1", func(r map[string]any) bool {
			return r["n"].(float64) <= 1000 && r["rate"].(float64) >= 0.9
		}},
		{"weights", "class=thresholds,domain=64,task=online", func(r map[string]any) bool {
			return r["rounds"] == 400.0 && r["regret_mean"].(float64) < r["theory_regret"].(float64)
		}},
		{"neighbours", "class=halfspace,dim=5,margin=0.1", func(r map[string]any) bool {
			return r["n"] == 320.0 && r["rate"].(float64) >= 0.9
		}},
		{"lists", "", func(r map[string]any) bool {
			return r["problem"] == "gallery/decision-lists" && r["d"] == 4.0 && r["rate"].(float64) >= 0.9
		}},
		{"balls", "", func(r map[string]any) bool {
			return r["problem"] == "gallery/balls" && r["p_radius"] == 1.2 && r["rate"].(float64) >= 0.9
		}},
		{"centroid", "class=halfspace,dim=5,margin=0.1", func(r map[string]any) bool {
			return r["n"] == 400.0 && r["rate"].(float64) >= 0.9
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			source, dir := filepath.Join("..", "..", "plugins", "_gallery", c.name), t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(source)); err != nil {
				t.Fatal(err)
			}
			galleryPlugin(t, source, dir)
			test := []string{"plugin", "test", filepath.Join(dir, c.name)}
			if c.setting != "" {
				test = append(test, "--setting", c.setting)
			}
			stdout, stderr, code := shatter(t, test...)
			if code != 0 {
				t.Fatalf("exit %d: %s%s", code, stdout, stderr)
			}
			out := filepath.Join(dir, "out")
			mustRun(t, filepath.Join(dir, "sweep.yaml"), out)
			what := "curve"
			if c.name == "weights" {
				what = "table"
			}
			for _, row := range frame(t, out, what) {
				if strings.HasPrefix(row["algorithm"].(string), "gallery/") && c.shows(row) {
					return
				}
			}
			t.Errorf("no row shows what it has to: %v", frame(t, out, what))
		})
	}
}

// galleryPlugin builds the plugin of the folder source in dir, with the data that its sweep needs.
func galleryPlugin(t *testing.T, source, dir string) {
	t.Helper()
	name := filepath.Base(source)
	if slices.Contains([]string{"balls", "histogram", "linear", "mean"}, name) {
		modules := "grpc, google.protobuf, numpy"
		if name == "linear" {
			modules += ", sklearn"
		}
		interpreter := testkit.Python(t, modules)
		path := filepath.Join(dir, name+".py")
		named := strings.Replace(testkit.ReadFile(t, path), "#!/usr/bin/env python3", "#!"+interpreter, 1)
		if _, stderr, code := shatter(t, "plugin", "build", write(t, path, named)); code != 0 {
			t.Fatalf("exit %d: %s", code, stderr)
		}
		return
	}
	if name == "centroid" {
		compile(t, dir)
		return
	}
	if err := buildModule(source, filepath.Join(dir, "module"), filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "breast_cancer.csv"), testkit.ReadFile(t, "examples/breast_cancer.csv"))
}

// compile builds the plugin in C++ in the folder dir. It takes 11 seconds of CPU, so the test is skipped unless
// SHATTER_TEST_CXX is set.
func compile(t *testing.T, dir string) {
	t.Helper()
	if os.Getenv("SHATTER_TEST_CXX") == "" {
		t.Skip("NOT RUN: set SHATTER_TEST_CXX=1 where there are Debian's packages " +
			"g++ pkg-config libgrpc++-dev protobuf-compiler-grpc")
	}
	proto, err := filepath.Abs(filepath.Join("..", "..", "schemas", "pluginv1", "plugin.proto"))
	if err != nil {
		t.Fatal(err)
	}
	build := exec.Command("sh", "build.sh", proto)
	build.Dir, build.Env = dir, append(os.Environ(), "CXXFLAGS=-O0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
