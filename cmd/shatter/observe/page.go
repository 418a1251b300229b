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
	"strings"
	"time"

	"github.com/shatterlab/shatter/pipeline/result/report"
)

// A PageSource returns the page of the process at one moment: the page of a sweep, or, if sweep is
// "", the root. It returns nil if there is no such page. Concurrent use must be safe.
type PageSource func(ctx context.Context, sweep string) (*report.Page, error)

const (
	maxStreams = 16       // maximum number of pages that are followed
	maxRefresh = 48 << 10 // bytes of a refresh; the reader gets larger sections by loading the page again
	pageEvery  = time.Second
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

// page returns a page that follows the process, or responds with an error and returns nil.
func (s *Server) page(w http.ResponseWriter, r *http.Request, sweep string) *report.Page {
	s.mu.Lock()
	pages := s.pages
	s.mu.Unlock()
	if status, why := s.refuse(r); why != "" {
		if status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Basic realm="shatter"`)
		}
		http.Error(w, "shatter: "+why+"\nopen to all: /healthz /readyz /metrics", status)
		return nil
	}
	if pages == nil {
		http.Error(w, "shatter: this process has no page\nsee /healthz /readyz /metrics", http.StatusNotFound)
		return nil
	}
	p, err := pages(r.Context(), sweep)
	switch {
	case err != nil:
		http.Error(w, "shatter: "+err.Error(), http.StatusServiceUnavailable)
	case p == nil:
		http.Error(w, "shatter: there is no such page", http.StatusNotFound)
	}
	return p
}

// refuse returns the reason why a client may not see pages; "": it may. Without a token only this
// machine may, under a name that no other site can take.
func (s *Server) refuse(r *http.Request) (status int, why string) {
	if s.token != "" {
		_, given, basic := r.BasicAuth()
		if !basic {
			given = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		}
		if subtle.ConstantTimeCompare([]byte(given), []byte(s.token)) == 1 {
			return 0, ""
		}
		return http.StatusUnauthorized, "the page needs the token of --http-token-file as a password, with any name"
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	switch {
	case !s.loopback:
		return http.StatusForbidden,
			"beyond this machine the page needs --http-cert, --http-key and --http-token-file"
	case !isLoopback(strings.Trim(host, "[]")):
		return http.StatusForbidden, "open the page as localhost or 127.0.0.1"
	}
	return 0, ""
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (s *Server) showPage(w http.ResponseWriter, r *http.Request) {
	sweep := r.PathValue("id")
	p := s.page(w, r, sweep)
	if p == nil {
		return
	}
	p.Live = "/events?" + url.Values{"sweep": {sweep}, "seen": {strings.Join(hashes(p), ".")}}.Encode()
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", p.Policy()+"; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
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
