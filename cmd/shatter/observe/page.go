package observe

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/shatterlab/shatter/pipeline/result/report"
)

// A Request asks for a page, or sends a form of one.
type Request struct {
	Sweep      string     // ID of the sweep that the page shows; "": the root
	Action     string     // pause, resume, cancel, query or compare; "": the page as it is now
	Form       url.Values // content of the form
	Controls   bool       // the client has the token for pausing, resuming and cancelling
	MayControl bool       // there is such a token
}

// A PageSource returns the page of the process at one moment, or the page that answers a form. It
// returns nil if there is no such page, or after an action if the page of the sweep shows its effect.
// Concurrent use must be safe.
type PageSource func(ctx context.Context, r Request) (*report.Page, error)

const (
	maxStreams = 16       // maximum number of pages that are followed
	maxRefresh = 48 << 10 // bytes of a refresh; the reader gets larger sections by loading the page again
	pageEvery  = time.Second
	maxForm    = 256 << 10
	formTime   = 2 * time.Minute // maximum time of the answer to a form
)

// Show sets the source of the pages that the server shows from now on.
func (s *Server) Show(pages PageSource) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages = pages
}

// page returns a page that follows the process, or responds with an error or a redirection and
// returns nil.
func (s *Server) page(w http.ResponseWriter, r *http.Request, sweep string) *report.Page {
	s.mu.Lock()
	pages := s.pages
	s.mu.Unlock()
	controls, ok := s.admit(w, r)
	if !ok {
		return nil
	}
	if pages == nil {
		http.Error(w, "shatter: this process has no page\nsee /healthz /readyz /metrics", http.StatusNotFound)
		return nil
	}
	request := Request{Sweep: sweep, Controls: controls, MayControl: s.controls != ""}
	if r.Method == http.MethodPost {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		if err := r.ParseForm(); err != nil {
			http.Error(w, "shatter: "+err.Error(), http.StatusBadRequest)
			return nil
		}
		request.Action, request.Form = path.Base(r.URL.Path), r.PostForm
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(formTime))
	}
	p, err := pages(r.Context(), request)
	switch {
	case err != nil:
		http.Error(w, "shatter: "+err.Error(), http.StatusServiceUnavailable)
	case p == nil && request.Action != "":
		http.Redirect(w, r, PathOf(sweep), http.StatusSeeOther)
	case p == nil:
		http.Error(w, "shatter: there is no such page", http.StatusNotFound)
	}
	return p
}

// PathOf returns the path of the page of a sweep; "": the root.
func PathOf(sweep string) string {
	if sweep == "" {
		return "/"
	}
	return "/sweeps/" + url.PathEscape(sweep)
}

// admit reports whether a client may see pages, and whether it may control sweeps. If it may not
// see pages, admit responds. Without a token only this machine may see them, under a name that no
// other site can take.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) (controls, ok bool) {
	_, given, basic := r.BasicAuth()
	if !basic {
		given = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	}
	is := func(token string) bool {
		return token != "" && subtle.ConstantTimeCompare([]byte(given), []byte(token)) == 1
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	const open = "\nopen to all: /healthz /readyz /metrics"
	const password = " as a password, with any name" + open
	switch {
	case is(s.controls):
		return true, true
	case is(s.token):
		return false, true
	case s.token != "":
		challenge(w, "the page needs the token of --http-token-file"+password)
	case !s.loopback && s.controls != "":
		challenge(w, "the page needs the token of --http-control-token-file"+password)
	case !s.loopback:
		http.Error(w, "shatter: beyond this machine the page needs --http-cert, --http-key and "+
			"--http-token-file"+open, http.StatusForbidden)
	case !isLoopback(strings.Trim(host, "[]")):
		http.Error(w, "shatter: open the page as localhost or 127.0.0.1"+open, http.StatusForbidden)
	default:
		return false, true
	}
	return false, false
}

// challenge asks the client for a password.
func challenge(w http.ResponseWriter, why string) {
	w.Header().Set("WWW-Authenticate", `Basic realm="shatter"`)
	http.Error(w, "shatter: "+why, http.StatusUnauthorized)
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// controlled serves clients that may control sweeps, and asks others for the token.
func (s *Server) controlled(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch controls, ok := s.admit(w, r); {
		case !ok:
		case controls:
			serve(w, r)
		case s.controls == "":
			http.Error(w, "shatter: sweeps cannot be controlled here: start with --http-control-token-file",
				http.StatusForbidden)
		default:
			challenge(w, "controlling sweeps needs the token of --http-control-token-file as a password, "+
				"with any name")
		}
	}
}

// showAgain shows the page of a sweep again, to a client that has signed in.
func showAgain(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, PathOf(r.URL.Query().Get("sweep")), http.StatusSeeOther)
}

// showPage responds with a page, which follows the process unless it answers a question.
func (s *Server) showPage(w http.ResponseWriter, r *http.Request) {
	sweep := r.PathValue("id")
	p := s.page(w, r, sweep)
	if p == nil {
		return
	}
	p.Served = true
	if p.State != "" {
		seen := strings.Join(hashes(p), ".")
		p.Live = "/events?" + url.Values{"sweep": {sweep}, "seen": {seen}}.Encode()
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", p.Policy()+"; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // a stricter one hides the origin of forms
	h.Set("Cache-Control", "no-store")
	if p.Alarm != "" {
		w.WriteHeader(http.StatusUnprocessableEntity)
	}
	_ = p.Write(w) // the client is gone
}

// hashes returns a short hash of each section of a page.
func hashes(p *report.Page) (all []string) {
	for _, x := range p.Sections {
		sum := sha256.Sum256([]byte(x.HTML))
		all = append(all, hex.EncodeToString(sum[:4]))
	}
	return all
}

// A refresh is the data of an event: the sections that have changed.
type refresh struct {
	Sections map[string]string `json:"sections"`
	State    string            `json:"state"`
	End      bool              `json:"end"` // no further events follow
}

// follow sends the changed sections of a page about once a second, as server-sent events, until the
// client leaves or the server closes. The last event has all sections that have changed.
func (s *Server) follow(w http.ResponseWriter, r *http.Request) {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		http.Error(w, "shatter: too many pages are open", http.StatusServiceUnavailable)
		return
	}
	query := r.URL.Query()
	seen := strings.Split(query.Get("seen"), ".")
	to := http.NewResponseController(w)
	for end := false; ; {
		p := s.page(w, r, query.Get("sweep"))
		if p == nil {
			return
		}
		now := hashes(p)
		for len(seen) < len(now) {
			seen = append(seen, "")
		}
		if w.Header().Get("Content-Type") == "" {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Cache-Control", "no-store")
		}
		event, err := newRefresh(p, now, seen, end || p.Ended)
		if err != nil {
			return
		}
		_ = to.SetWriteDeadline(time.Now().Add(10 * time.Second))
		if _, err := fmt.Fprintf(w, "data: %s\n", event); err != nil || to.Flush() != nil || end || p.Ended {
			return
		}
		select {
		case <-time.After(pageEvery):
		case <-s.closing:
			end = true
		case <-r.Context().Done():
			return
		}
	}
}

// newRefresh returns the event for the sections of p whose hashes differ from those in seen, which
// it updates. Unless it is the last event, it leaves out sections that would make it too large.
func newRefresh(p *report.Page, now, seen []string, end bool) ([]byte, error) {
	event, size, older := refresh{Sections: map[string]string{}, End: end}, 0, ""
	for i, x := range p.Sections {
		if now[i] == seen[i] {
			continue
		}
		if size+len(x.HTML) > maxRefresh && !end {
			if len(x.HTML) > maxRefresh {
				older = " Parts of it are older: load the page again to see them now."
			} // or else the next event has it
			continue
		}
		size += len(x.HTML)
		event.Sections[x.ID], seen[i] = string(x.HTML), now[i]
	}
	if len(event.Sections) > 0 {
		nav, err := p.Nav()
		if err != nil {
			return nil, err
		}
		event.Sections["nav"] = string(nav.HTML)
	}
	event.State = p.State + older
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // the page's script parses it; escapes would double its size
	err := e.Encode(event)
	return b.Bytes(), err
}
