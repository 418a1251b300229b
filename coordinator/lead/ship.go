package lead

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shatterlab/shatter/pipeline/bus"
	"github.com/shatterlab/shatter/pipeline/disk"
	"github.com/shatterlab/shatter/pipeline/ledger"
)

// Shipment lists the files of an output folder that are on the server.
type Shipment struct {
	Epoch uint64    `json:"epoch"` // of the leader that shipped them
	At    time.Time `json:"at"`
	Files []File    `json:"files"`           // by name
	Stand *Stand    `json:"stand,omitempty"` // how far the sweep had come; nil: nobody could say
}

// Stand is how far a sweep has come.
type Stand struct {
	Decided int   `json:"decided"` // cells that are done
	Trials  int64 `json:"trials"`  // outcomes in the ledger
}

// File is a file of an output folder: its parts, one after the other.
type File struct {
	Name  string `json:"name"` // relative to the folder, with slashes
	Parts []Part `json:"parts"`
}

// Part is a range of a file that follows the part before it.
type Part struct {
	Size   int64  `json:"size"` // bytes
	Digest string `json:"sha256"`
}

func (f *File) size() (n int64) {
	for _, p := range f.Parts {
		n += p.Size
	}
	return n
}

// isLog reports whether a file is one of the ledger's, which only grow.
func (f *File) isLog() bool { return strings.HasSuffix(f.Name, ".log") }

// checkName refuses the names of files that would not be in the folder.
func (f *File) checkName() error {
	if !filepath.IsLocal(filepath.FromSlash(f.Name)) {
		return fmt.Errorf("shipped file %q is not inside its folder", f.Name)
	}
	return nil
}

// partSize is the size in bytes that no part of a file exceeds.
const partSize = 8 << 20

// shipper ships the output folder of a sweep. Its methods may be called concurrently.
type shipper struct {
	dir   string
	conn  *bus.Conn
	lead  *bus.Leadership
	stand func() *Stand // says how far the sweep has come; nil: nobody can say

	mu    sync.Mutex
	files map[string]File // that are on the server, by name
	told  *Shipment       // what the registry lists; nil: something else
}

// ship puts on the server what it has not yet of the folder, and lists all of it in the registry.
func (s *shipper) ship(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := Shipment{Epoch: s.lead.Epoch}
	if s.stand != nil {
		list.Stand = s.stand() // before the files, which have all of it then
	}
	names, err := folderFiles(s.dir)
	if err != nil {
		return err
	}
	now := map[string]File{}
	for _, name := range names {
		f := File{Name: name, Parts: slices.Clone(s.files[name].Parts)}
		if f.isLog() {
			err = s.extend(ctx, &f)
		} else {
			err = s.replace(ctx, &f)
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed or renamed meanwhile
		}
		if err != nil {
			return fmt.Errorf("ship %q: %w", filepath.Join(s.dir, name), err)
		}
		now[name] = f
	}
	same := func(a, b File) bool { return slices.Equal(a.Parts, b.Parts) }
	if s.told != nil && maps.EqualFunc(now, s.files, same) && equal(list.Stand, s.told.Stand) {
		return nil
	}
	list.At = time.Now().UTC()
	for _, name := range slices.Sorted(maps.Keys(now)) {
		list.Files = append(list.Files, now[name])
	}
	raw, err := json.Marshal(list)
	if err != nil {
		return err
	}
	if err := s.lead.Ship(ctx, raw); err != nil {
		return err
	}
	s.forget(ctx, now)
	s.files, s.told = now, &list
	return nil
}

// equal reports whether two stands are the same; nil is one of its own.
func equal(a, b *Stand) bool { return a == b || a != nil && b != nil && *a == *b }

// forget removes parts of logs from the server that became others. What it fails to remove lies
// there unused.
func (s *shipper) forget(ctx context.Context, now map[string]File) {
	for name, f := range s.files {
		for _, p := range f.Parts {
			if f.isLog() && !slices.Contains(now[name].Parts, p) {
				_ = s.conn.Remove(ctx, p.Digest)
			}
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

// replace ships a file part by part, but for parts that are what was shipped.
func (s *shipper) replace(ctx context.Context, f *File) error {
	path := filepath.Join(s.dir, filepath.FromSlash(f.Name))
	file, _, err := disk.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	before := f.Parts
	f.Parts = nil
	for at := int64(0); ; {
		sum := sha256.New()
		size, err := io.Copy(sum, io.LimitReader(file, partSize))
		if err != nil || size == 0 {
			return err
		}
		part := Part{size, hex.EncodeToString(sum.Sum(nil))}
		if i := len(f.Parts); i >= len(before) || before[i] != part {
			if part.Digest, err = s.conn.PutRange(ctx, path, at, size); err != nil {
				return err
			}
		}
		f.Parts = append(f.Parts, part)
		at += size
	}
}

// extend ships what a file of the ledger has beyond its parts, up to its last whole frame. Parts at
// the end that are smaller than what is new become one with it, so that they stay few.
func (s *shipper) extend(ctx context.Context, f *File) error {
	file, _, err := disk.Open(filepath.Join(s.dir, filepath.FromSlash(f.Name)))
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if info.Size() < f.size() { // it was rewritten
		f.Parts = nil
	}
	for at := f.size(); at < info.Size(); {
		end := min(info.Size(), at+partSize)
		parts := f.Parts
		for len(parts) > 0 && parts[len(parts)-1].Size <= end-at && end-at+parts[len(parts)-1].Size <= partSize {
			at -= parts[len(parts)-1].Size
			parts = parts[:len(parts)-1]
		}
		b := make([]byte, end-at)
		n, err := file.ReadAt(b, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		b = wholeFrames(b[:n])
		if at+int64(len(b)) <= f.size() {
			return nil // nothing is whole yet
		}
		digest, err := s.conn.PutRange(ctx, file.Name(), at, int64(len(b)))
		if err != nil {
			return err
		}
		f.Parts = append(parts, Part{int64(len(b)), digest})
		at += int64(len(b))
	}
	return nil
}

// wholeFrames returns the bytes of b up to the end of its last sound frame.
func wholeFrames(b []byte) []byte {
	end := 0
	for f := range ledger.Frames(b) {
		if f.Damage == "" {
			end = f.End
		}
	}
	return b[:end]
}

// merge brings into the folder dir of the sweep id what was shipped of it and is not there. The
// folder may hold nothing, the same, an older state or a later one, or outcomes of its own. It
// returns the shipped files of which the folder has every byte.
func merge(ctx context.Context, conn *bus.Conn, dir, id string, shipped Shipment) (map[string]File, error) {
	if err := os.MkdirAll(filepath.Join(dir, "ledger"), 0o755); err != nil {
		return nil, err
	}
	files := slices.Clone(shipped.Files)
	slices.SortFunc(files, func(a, b File) int { // ledger/sweep.json, which makes the folder the sweep's, before others
		inLedger := func(f File) int { return -len(filepath.Dir(f.Name)) }
		return cmp.Or(cmp.Compare(inLedger(a), inLedger(b)), strings.Compare(a.Name, b.Name))
	})
	have := map[string]File{}
	var missing []Part
	for _, f := range files {
		if err := f.checkName(); err != nil {
			return nil, err
		}
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if f.isLog() {
			same := samePrefix(path, f.Parts)
			have[f.Name] = File{f.Name, f.Parts[:same:same]}
			missing = append(missing, f.Parts[same:]...)
			continue
		}
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			if err := fetchFile(ctx, conn, path, f.Parts); err != nil {
				return nil, err
			}
		}
	}
	if len(missing) == 0 {
		return have, nil
	}
	if err := addOutcomes(ctx, conn, filepath.Join(dir, "ledger"), id, missing); err != nil {
		return nil, err
	}
	for _, f := range files { // a ledger that was empty is now the shipped one, byte for byte
		if f.isLog() {
			same := samePrefix(filepath.Join(dir, filepath.FromSlash(f.Name)), f.Parts)
			have[f.Name] = File{f.Name, f.Parts[:same:same]}
		}
	}
	return have, nil
}

// addOutcomes adds the outcomes of parts of a ledger to the one in the folder dir.
func addOutcomes(ctx context.Context, conn *bus.Conn, dir, id string, parts []Part) (err error) {
	l, _, err := ledger.Open(dir, id)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	for _, p := range parts {
		content, err := conn.FetchBytes(ctx, p.Digest)
		if err != nil {
			return err
		}
		for f := range ledger.Frames(content) {
			if f.Damage != "" {
				continue // it was damaged when it was shipped: its trials are run again
			}
			if _, err := l.Add(f.Message); err != nil {
				return err
			}
		}
	}
	return nil
}

// samePrefix returns how many of the parts the file at path begins with.
func samePrefix(path string, parts []Part) int {
	file, _, err := disk.Open(path)
	if err != nil {
		return 0
	}
	defer file.Close()
	for i, p := range parts {
		sum := sha256.New()
		if n, err := io.CopyN(sum, file, p.Size); err != nil || n != p.Size || hex.EncodeToString(sum.Sum(nil)) != p.Digest {
			return i
		}
	}
	return len(parts)
}

// fetchFile makes a file of its parts.
func fetchFile(ctx context.Context, conn *bus.Conn, path string, parts []Part) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	err := disk.WriteBeside(path, func(w io.Writer) error {
		for _, p := range parts {
			content, err := conn.FetchBytes(ctx, p.Digest)
			if err != nil {
				return err
			}
			if _, err := w.Write(content); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return disk.Replace(path)
}

// Fetch makes the folder dir, which must be empty or missing, of what was shipped of a sweep.
func Fetch(ctx context.Context, conn *bus.Conn, dir string, r *Record) error {
	for _, f := range r.Shipment.Files {
		if err := f.checkName(); err != nil {
			return err
		}
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := fetchFile(ctx, conn, path, f.Parts); err != nil {
			return fmt.Errorf("fetch %q: %w", f.Name, err)
		}
	}
	return nil
}
