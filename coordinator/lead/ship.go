package lead

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/pipeline/queue"
)

// A Shipment lists the files of an output folder that are on the server, in the state when its
// leader ended or when results were requested.
type Shipment struct {
	Epoch  uint64    `json:"epoch"` // epoch of the leader that shipped the files
	At     time.Time `json:"at"`
	Files  []File    `json:"files"`            // sorted by name
	Totals *Totals   `json:"totals,omitempty"` // nil: unknown
}

// Totals counts the progress of a sweep.
type Totals struct {
	Decided int   `json:"decided"` // number of finished cells
	Trials  int64 `json:"trials"`  // number of outcomes in the ledger
}

// A File is a file of an output folder.
type File struct {
	Name   string `json:"name"` // path relative to the folder, with slashes
	Digest string `json:"sha256"`
}

// A shipper ships the output folder of a sweep. Concurrent use is safe.
type shipper struct {
	dir    string
	conn   *queue.Conn
	lead   *queue.LeaderLease
	totals func() *Totals // returns the present totals; nil: unknown

	mu   sync.Mutex
	last Shipment // last shipment in the registry, without its time
}

// ship puts the folder on the server, and stores its list of files in the registry. A log to which
// the ledger is just writing may end in the middle of a frame, which readers ignore.
func (s *shipper) ship(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := Shipment{Epoch: s.lead.Epoch}
	if s.totals != nil {
		list.Totals = s.totals() // before the files, which then cover at least these totals
	}
	names, err := folderFiles(s.dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		digest, err := s.conn.Files.Put(ctx, filepath.Join(s.dir, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed or renamed meanwhile
		}
		if err != nil {
			return fmt.Errorf("ship the folder: %w", err)
		}
		list.Files = append(list.Files, File{name, digest})
	}
	if reflect.DeepEqual(list, s.last) {
		return nil
	}
	next := list
	list.At = time.Now().UTC()
	raw, err := json.Marshal(list)
	if err != nil {
		return err
	}
	if err := s.lead.Ship(ctx, raw); err != nil {
		return err
	}
	s.removeUnused(ctx, next)
	s.last = next
	return nil
}

// removeUnused removes files of the last shipment that the next one does not contain. A failure
// leaves them on the server.
func (s *shipper) removeUnused(ctx context.Context, next Shipment) {
	kept := map[string]bool{}
	for _, f := range next.Files {
		kept[f.Digest] = true
	}
	for _, f := range s.last.Files {
		if !kept[f.Digest] {
			_ = s.conn.Files.Remove(ctx, f.Digest)
		}
	}
}

// folderFiles returns the names of the files of an output folder that are shipped.
func folderFiles(dir string) (names []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil && errors.Is(err, fs.ErrNotExist) || err == nil && !d.Type().IsRegular() {
			return nil
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if name = filepath.ToSlash(name); name != "ledger/lock" && !strings.HasSuffix(name, ".new") {
			names = append(names, name)
		}
		return err
	})
	return names, err
}

// begin makes the folder of a sweep from its last shipment, if there is no folder yet. Later
// results are in the stream of results.
func begin(ctx context.Context, conn *queue.Conn, dir string, r *Record) error {
	_, err := os.Stat(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	unfinished := dir + ".new"
	if err := os.RemoveAll(unfinished); err != nil {
		return err
	}
	if err := Fetch(ctx, conn, unfinished, r); err != nil {
		return err
	}
	return os.Rename(unfinished, dir)
}

// Fetch fetches the shipment of a sweep into the folder dir, which must be empty or missing.
func Fetch(ctx context.Context, conn *queue.Conn, dir string, r *Record) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, f := range r.Shipment.Files {
		name := filepath.FromSlash(f.Name)
		if !filepath.IsLocal(name) {
			return fmt.Errorf("shipped file %q is not inside its folder", f.Name)
		}
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = disk.WriteFile(path, func(to io.Writer) error {
				return conn.Files.Fetch(ctx, f.Digest, to)
			})
		}
		if err != nil {
			return fmt.Errorf("fetch %q: %w", f.Name, err)
		}
	}
	return nil
}
