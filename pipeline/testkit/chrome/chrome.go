// Package chrome starts a browser for tests of pages, and checks their accessibility. Start at
// [Start].
package chrome

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Start starts a Chromium for one test. It skips the test if there is none, unless
// SHATTER_TEST_BROWSER is "required".
func Start(t testing.TB) context.Context {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil && path == "" {
			path = found
		}
	}
	if path == "" {
		if os.Getenv("SHATTER_TEST_BROWSER") == "required" {
			t.Fatal("no chromium, chromium-browser or google-chrome in PATH, and SHATTER_TEST_BROWSER asks for one")
		}
		t.Skip("no Chromium here")
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path),
		chromedp.WSURLReadTimeout(2*time.Minute))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// CheckAccessibility fails the test if axe-core finds a fault on the page of a tab, with light or dark
// colors. Without axe-core it checks nothing, unless SHATTER_TEST_NODE is "required".
func CheckAccessibility(t testing.TB, tab context.Context) {
	t.Helper()
	axe, err := os.ReadFile(filepath.Join(os.Getenv("SHATTER_NODE_MODULES"), "axe-core", "axe.min.js"))
	if err != nil {
		if os.Getenv("SHATTER_TEST_NODE") == "required" {
			t.Fatalf("axe-core is not installed: %v; run npm install in cmd/shatter/testdata/node", err)
		}
		return
	}
	if _, err := chromedp.Run(tab, chromedp.Evaluate[bool](string(axe)+"; true")); err != nil {
		t.Fatal(err)
	}
	for scheme, rules := range map[string]string{"light": "undefined", "dark": `["color-contrast"]`} {
		_, err := chromedp.Call(tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		if err != nil {
			t.Fatal(err)
		}
		faults, err := chromedp.Run(tab, chromedp.Evaluate[[]string](
			`axe.run({exclude: [".plot svg"]}, {runOnly: `+rules+`, preload: false, resultTypes: ["violations"]}).
				then(r => r.violations.flatMap(v => v.nodes.map(n => [v.id, n.html, n.failureSummary].join(" "))))`,
			func(p *runtime.EvaluateParams) { p.AwaitPromise = new(true) }))
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range faults {
			t.Errorf("%s: %s", scheme, fault)
		}
	}
}
