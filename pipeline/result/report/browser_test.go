package report

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/pipeline/testkit/chrome"
)

// A tab is an open page. It records forbidden events: requests other than for the page itself,
// messages of the console, errors, dialogs.
type tab struct {
	t   *testing.T
	ctx context.Context

	sync.Mutex
	bad []string
}

// open opens a page and waits until it is loaded.
func open(t *testing.T, browser context.Context, path string, width int64) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	b := &tab{t: t, ctx: ctx}
	if err := chromedp.Listen(ctx, func(event any) { b.watch(event, "file://"+path) }); err != nil {
		t.Fatal(err)
	}
	call(b, network.Enable, network.EnableParams{})
	call(b, cdpage.Enable, cdpage.EnableParams{})
	call(b, log.Enable, cdp.Empty{})
	call(b, runtime.Enable, cdp.Empty{})
	b.do(chromedp.EmulateViewport(width, 900), chromedp.Navigate("file://"+path),
		chromedp.WaitReady(chromedp.CSS(`footer`)))
	return b
}

func (b *tab) watch(event any, url string) {
	b.Lock()
	defer b.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if to := e.Request.URL; to != url && !strings.HasPrefix(to, "data:") {
			b.bad = append(b.bad, "request for "+to)
		}
	case *runtime.EventConsoleAPICalled:
		for _, arg := range e.Args {
			b.bad = append(b.bad, "console: "+string(arg.Value)+arg.Description)
		}
	case *runtime.EventExceptionThrown:
		b.bad = append(b.bad, "exception: "+e.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		b.bad = append(b.bad, "log: "+e.Entry.Text)
	case *cdpage.EventJavascriptDialogOpening:
		b.bad = append(b.bad, "dialog: "+e.Message)
	}
}

// clean fails the test if the tab recorded a forbidden event.
func (b *tab) clean() {
	b.t.Helper()
	b.Lock()
	defer b.Unlock()
	if len(b.bad) > 0 {
		b.t.Errorf("the browser complains: %q", b.bad)
	}
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.clean()
		b.t.Fatal(err)
	}
}

func call[P, R any](b *tab, command cdp.Command[P, R], params P) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, command, params); err != nil {
		b.t.Fatal(err)
	}
}

// eval returns the value of an expression, or of the promise that it returns.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx,
		chromedp.Evaluate[T](expression, func(p *runtime.EvaluateParams) { yes := true; p.AwaitPromise = &yes }))
	if err != nil {
		b.t.Fatalf("%v in %s", err, expression)
	}
	return v
}

func (b *tab) media(kind, scheme string) {
	b.t.Helper()
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: kind,
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
}

// marksOf opens the folded figures, and counts, for each figure of the page, the points with a
// tooltip.
const marksOf = `document.querySelectorAll('.packed').forEach(d => d.open = true), new Promise(done => {
	const look = () => document.querySelector('.packed template') ? setTimeout(look, 20) :
		done([...document.querySelectorAll('.plot')].map(p => p.querySelectorAll('svg circle title').length));
	look();
})`

// overflow is the number of pixels by which the page is wider than its window.
const overflow = `document.documentElement.scrollWidth - document.documentElement.clientWidth`

// On a wide screen and on a phone, in light and dark mode and in print, all figures of every page
// are drawn, nothing is wider than the window, and the browser reports no error and no request.
// Names that contain markup or code stay names.
func TestPagesInBrowser(t *testing.T) {
	testkit.Long(t)
	started := chrome.Start(t)
	for _, c := range []struct {
		name    string
		sweep   *Sweep
		figures int
	}{
		{"ten cells", learned(t, 10), 3},
		{"2,000 cells", learned(t, 2000), 4},
		{"games", games(t), 2},
		{"undecided", undecided(t), 1},
		{"hostile", hostile(t), 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			path, text := written(t, c.sweep)
			start := time.Now()
			b := open(t, started, path, 1400)
			marks := eval[[]int](b, marksOf)
			t.Logf("%d bytes, figures with %v points, read in %v", len(text), marks,
				time.Since(start).Round(10*time.Millisecond))
			if len(marks) != c.figures || slices.Min(marks) < 1 {
				t.Errorf("figures with %v points, want %d figures, none empty", marks, c.figures)
			}
			if wide := eval[int](b, overflow); wide > 0 {
				t.Errorf("the page sticks out by %d pixels", wide)
			}
			if c.sweep.table.Len() < 100 { // layout of a long table is slow
				if c.name == "undecided" { // it has the most kinds of elements
					chrome.CheckAccessibility(t, b.ctx)
				}
				b.looks(t)
				b.do(chromedp.EmulateViewport(375, 800))
				if wide := eval[int](b, overflow); wide > 0 {
					t.Errorf("the page sticks out of a phone by %d pixels", wide)
				}
			}
			b.clean()
		})
	}
}

// looks checks the page's colors in light mode, dark mode and print. The figures must follow them.
func (b *tab) looks(t *testing.T) {
	t.Helper()
	const ink = `getComputedStyle(document.querySelector('.plot svg text')).fill`
	const paper = `getComputedStyle(document.body).backgroundColor`
	for _, c := range []struct{ kind, scheme, ink, paper string }{
		{"", "light", "rgb(27, 31, 36)", "rgb(255, 255, 255)"},
		{"", "dark", "rgb(228, 231, 235)", "rgb(20, 23, 26)"},
		{"print", "dark", "rgb(27, 31, 36)", "rgb(255, 255, 255)"},
	} {
		b.media(c.kind, c.scheme)
		if i, p := eval[string](b, ink), eval[string](b, paper); i != c.ink || p != c.paper {
			t.Errorf("%s %s: ink %s on %s, want %s on %s", c.kind, c.scheme, i, p, c.ink, c.paper)
		}
	}
	if hidden := eval[string](b, `getComputedStyle(document.querySelector('nav')).display`); hidden != "none" {
		t.Errorf("navigation in print: %s", hidden)
	}
	b.media("", "light")
}

// The table can be sorted, filtered and copied. Its rows have links, and those that are packed appear
// when they are needed.
func TestUseInBrowser(t *testing.T) {
	testkit.Long(t)
	started := chrome.Start(t)
	path, _ := written(t, learned(t, 40))
	b := open(t, started, path, 1200)
	const head = `[...document.querySelectorAll('#cells th')].find(h => h.textContent === 'n_star')`
	const column = `[...document.querySelectorAll('#cells tbody tr:not([hidden])')].map(r => Number(r.cells[` + head +
		`.cellIndex].textContent))`
	up := eval[[]float64](b, head+`.querySelector('button').click(), `+column)
	if sorted := eval[string](b, head+`.getAttribute('aria-sort')`); !slices.IsSorted(up) || sorted != "ascending" ||
		len(up) < 20 {
		t.Errorf("sorted %s: %v", sorted, up)
	}
	down := eval[[]float64](b, head+`.querySelector('button').click(), `+column)
	slices.Reverse(down)
	if !slices.Equal(up, down) {
		t.Errorf("sorted downwards: %v", down)
	}
	const copied = `navigator.clipboard.writeText = text => { window.copied = text }, ` +
		`document.querySelector('[data-copy=csv]').click(), copied`
	if lines := strings.Split(eval[string](b, copied), "\n"); len(lines) != len(up)+2 ||
		!strings.HasPrefix(lines[0], "algorithm,d,epsilon,n_star,n_low,n_high,status,") {
		t.Errorf("copied %q", lines)
	}
	b.do(chromedp.SendKeys(chromedp.CSS("#filter"), "acme/two 64"))
	filtered, count := eval[[]float64](b, column), eval[string](b, `document.querySelector('#count').textContent`)
	if len(filtered) == 0 || len(filtered) >= len(up) || !strings.Contains(count, " of ") {
		t.Errorf("%v rows after filtering, %s", filtered, count)
	}
	b.clean()
	s := learned(t, 150)
	path, _ = written(t, s)
	last := s.table.text(s.table.Len()-1, "cell")
	b = open(t, started, path, 1200)
	const rows = `document.querySelectorAll('#cells tbody tr').length`
	if n := eval[int](b, rows); n != maxShownRows {
		t.Errorf("%d rows at first", n)
	}
	n := eval[int](b, `location.hash = '`+last+`', new Promise(done => {
		const look = () => document.querySelector('tr:target') ? done(`+rows+`) : setTimeout(look, 20);
		look();
	})`)
	if n != s.table.Len() {
		t.Errorf("%d rows after following a link to row %s", n, last)
	}
	b.clean()
}
