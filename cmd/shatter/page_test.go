package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/shatterlab/shatter/pipeline/fleet"
	"github.com/shatterlab/shatter/pipeline/result/report"
	"github.com/shatterlab/shatter/pipeline/testkit"
	"github.com/shatterlab/shatter/pipeline/testkit/chrome"
)

// startRun starts a run of clusterSweep that serves a page. It returns the page's address, and a
// function that waits for the end of the run and returns its digest.
func startRun(t *testing.T) (url string, wait func() string) {
	t.Helper()
	dir := t.TempDir()
	file, log := write(t, filepath.Join(dir, "sweep.yaml"), clusterSweep), filepath.Join(dir, "log")
	ended := make(chan string)
	go func() {
		defer close(ended)
		_, stderr, _ := shatter(t, "run", file, "--out", filepath.Join(dir, "out"), "--http", "127.0.0.1:0", "--log", log,
			"--workers", "1")
		ended <- stderr
	}()
	address := regexp.MustCompile(`http=(\S+)`)
	waitFor(t, "the address of the page", func() bool {
		text, _ := os.ReadFile(log)
		found := address.FindStringSubmatch(string(text))
		if found == nil {
			return false
		}
		url = found[1]
		answer, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
	return url, func() string { return digest(t, <-ended) }
}

// A client that follows the page of a run gets small refreshes, and at the end the whole result.
func TestEventsOfRun(t *testing.T) {
	t.Parallel()
	url, wait := startRun(t)
	get := func(path, host string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	for host, code := range map[string]int{"": http.StatusOK, "evil.example": http.StatusForbidden} {
		answer := get("/", host)
		page, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != code || code == http.StatusOK &&
			(!strings.Contains(string(page), `data-live="/events?`) || len(page) > 300<<10 ||
				!strings.Contains(answer.Header.Get("Content-Security-Policy"), "default-src 'none'; script-src 'sha256-")) {
			t.Errorf("host %q: %d, %d bytes, %v, %v", host, answer.StatusCode, len(page), answer.Header, err)
		}
	}
	stream := get("/events", "")
	defer stream.Body.Close()
	lines := bufio.NewReader(stream.Body)
	shown := map[string]string{}
	for end := false; !end; {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		text, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var event struct {
			Sections map[string]string
			State    string
			End      bool
		}
		if err := json.Unmarshal([]byte(text), &event); err != nil {
			t.Fatal(err)
		}
		if end = event.End; !end && len(line) > 60<<10 {
			t.Errorf("a refresh has %d bytes", len(line))
		}
		for id, content := range event.Sections {
			shown[id] = content
		}
		if end && !strings.HasPrefix(event.State, "The run is done.") {
			t.Errorf("at the end: %s", event.State)
		}
	}
	if digest := wait(); !strings.Contains(shown["made"], digest) || strings.Contains(shown["answer"], "Partial") ||
		!strings.Contains(shown["table"], "decided") || !strings.Contains(shown["live"], "2 of 2 decided") {
		t.Errorf("%s is not in the last state: %q", digest, shown)
	}
}

// evaluate returns the value of an expression on a page.
func evaluate[T any](t *testing.T, tab context.Context, expression string) T {
	t.Helper()
	value, err := chromedp.Run(tab, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// text returns the text of an element of a page; "": there is no such element.
func text(t *testing.T, tab context.Context, selector string) string {
	t.Helper()
	return evaluate[string](t, tab, fmt.Sprintf(`(document.querySelector(%q) || {textContent: ''}).textContent`, selector))
}

// A browser shows a run from its beginning to its end, and the result afterwards.
func TestRunInBrowser(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	browser := chrome.Start(t)
	url, wait := startRun(t)
	if err := chromedp.Do(browser, chromedp.Navigate(url)); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the end of the run", func() bool {
		return strings.HasPrefix(text(t, browser, "#state"), "The run is done.")
	})
	if digest := wait(); !strings.Contains(text(t, browser, "#made"), digest) {
		t.Errorf("%s is not on the page", digest)
	}
	if rows := text(t, browser, "#count"); rows != "2 rows" {
		t.Errorf("%s in the table", rows)
	}
}

// The page of a coordinator that was killed and started again shows the sweep to its end.
func TestCoordinatorInBrowser(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	browser := chrome.Start(t)
	c := newCluster(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	const token = "0123456789abcdef"
	file := write(t, filepath.Join(c.dir, "token"), token)
	lead := func() *exec.Cmd {
		cmd := exec.Command(binary(t), "coordinator", "--server", c.url, "--dir", filepath.Join(c.dir, "sweeps"),
			"--lease", "1s", "--http", address, "--http-control-token-file", file)
		start(t, cmd)
		return cmd
	}
	first := lead()
	id := c.submit(clusterSweep)
	var opened string
	waitFor(t, "the address of the page", func() bool {
		watch := exec.Command(binary(t), "watch", id, "--open", "--server", c.url)
		watch.Env = append(os.Environ(), "DISPLAY=", "WAYLAND_DISPLAY=")
		stderr, err := watch.StderrPipe()
		if err != nil || watch.Start() != nil {
			t.Fatal(err)
		}
		opened, _ = bufio.NewReader(stderr).ReadString('\n')
		_ = watch.Process.Kill()
		_ = watch.Wait()
		return strings.HasPrefix(opened, "page: ")
	})
	if want := "page: http://" + address + "/sweeps/" + id + "\n"; opened != want {
		t.Errorf("%q is opened, want %q", opened, want)
	}
	open := func(path string) {
		t.Helper()
		if err := chromedp.Do(browser, chromedp.Navigate("http://"+path)); err != nil {
			t.Fatal(err)
		}
	}
	open(address)
	waitFor(t, "why the sweep waits", func() bool {
		return strings.Contains(text(t, browser, "#sweeps"), "no worker is running")
	})
	const refused = "needs the token of --http-control-token-file"
	send := func(password, path, body, want string) {
		t.Helper()
		if page := post(t, "http://me:"+password+"@"+address+path, body); !strings.Contains(page, want) {
			t.Errorf("%s %s: want %q in %.3000s", path, body, want, page)
		}
	}
	sweep := "/sweeps/" + id
	send("", sweep+"/pause", "", refused)
	open("me:" + token + "@" + address + "/control") // the browser keeps the password
	open(address + sweep)
	chrome.CheckAccessibility(t, browser)
	state := func(want string) {
		t.Helper()
		waitFor(t, "that the sweep is "+want, func() bool { return text(t, browser, "#live strong") == want })
	}
	evaluate[bool](t, browser, `document.querySelector("#control form[action$=pause] button").click(), true`)
	state("paused")
	send(token, sweep+"/resume", "", `id="control"`)
	state("waiting")
	send(token, sweep+"/cancel", "", "Resume")
	send(token, sweep+"/pause", "", "was cancelled; shatter resume "+id)
	state("cancelled")
	send(token, sweep+"/resume", "", "Yes, cancel it")
	c.signal(first, syscall.SIGKILL)
	waitFor(t, "that the coordinator is gone", func() bool {
		return strings.Contains(text(t, browser, "#state"), "does not answer")
	})
	lead()
	start(t, exec.Command(binary(t), "worker", "--workers", "1", "--server", c.url))
	waitFor(t, "the end of the sweep", func() bool {
		return text(t, browser, "#live strong") == "done" &&
			strings.Contains(text(t, browser, "#made"), c.local(clusterSweep))
	})
	send("", "/compare", "a="+id+"&b="+id, "2 pairs of cells compared")
	send("", "/compare", "a="+id+"&b=x", "no sweep &#34;x&#34; on this server")
	send("", sweep+"/query", "sql=select+*+from+range(2000)", "the first 1,000 of 2,000 rows")
	send("", sweep+"/query", "sql=copy+cells+to+'x'", "reads the views of this result and nothing else")
}

// post sends a form, and returns the page that answers it.
func post(t *testing.T, url, body string) string {
	t.Helper()
	answer, err := http.Post(url, "application/x-www-form-urlencoded", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// Names that contain markup stay names on a coordinator's page.
func TestHostileNamesOnPage(t *testing.T) {
	t.Parallel()
	const attack = `<img src=x onerror=alert(1)>"'</script>`
	v := clusterView{
		Sweeps:      []*sweepStatus{{ID: attack, Name: attack, State: attack, Reason: attack, By: attack}},
		Workers:     []*fleet.Worker{{Name: attack, Platform: attack, Seen: time.Now(), Held: []fleet.Held{{Sweep: attack}}}},
		Quarantined: map[string][]string{attack: {attack}}, Remarks: map[string]string{attack: attack},
		Errors: []string{attack},
	}
	for _, id := range []string{"problems", "sweeps", "workers"} {
		s, err := report.NewSection(pageTemplates, id, "", v)
		if html := string(s.HTML); err != nil || !strings.Contains(html, "&lt;img src=x") || strings.Contains(html, "<img") {
			t.Errorf("%s: %s, %v", id, html, err)
		}
	}
}
