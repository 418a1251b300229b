package authority

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shatterlab/shatter/pipeline/queue"
	"github.com/shatterlab/shatter/pipeline/testkit"
)

// The keys of a cluster may hold anything: they are refused, or name files inside the cluster's folder and
// issue credentials, or say why not.
func FuzzOpen(f *testing.F) {
	made, err := Create(filepath.Join(testkit.MemoryDir(f), "cluster"), Options{Hosts: []string{"localhost"}})
	if err != nil {
		f.Fatal(err)
	}
	whole, err := os.ReadFile(made.path(keysFile))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add([]byte(strings.ReplaceAll(string(whole), `"localhost"`, `"x/../../../../tmp"`)))
	f.Add([]byte(strings.ReplaceAll(string(whole), `"submitter":`, `"../submitter":`)))
	f.Add([]byte(strings.ReplaceAll(string(whole), `"worker": "SA`, `"worker": "SU`)))
	f.Add([]byte(`{"format":2}`))
	f.Add([]byte(`{"format":2,"teams":{"shatter":{}},"issued":{"w":null}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := decodeState(text)
		if err != nil {
			return
		}
		c := &Cluster{Dir: t.TempDir(), state: s}
		for _, h := range c.Hosts {
			if filepath.Dir(c.ServerDir(h)) != c.Dir {
				t.Errorf("host %q has its folder at %q", h, c.ServerDir(h))
			}
		}
		for name := range c.Issued {
			if filepath.Dir(c.Credentials(name)) != c.Dir {
				t.Errorf("%q has its credentials at %q", name, c.Credentials(name))
			}
		}
		_, _ = c.tokens()
		if _, err := c.Issue("fresh", FirstTeam, queue.Worker, 0); err == nil && c.Issued["fresh"] == nil {
			t.Error("credentials were issued, and nobody remembers to whom")
		}
	})
}
