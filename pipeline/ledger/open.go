package ledger

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// Open opens the ledger in the folder dir, which it makes where there is none, and takes its lock. A folder that holds
// messages of another sweep, or whose lock another process holds, is refused. A torn tail is cut off; damage elsewhere
// is left alone.
func Open(dir, sweep string) (*Ledger, *Report, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, nil, fmt.Errorf("open ledger: %w", err)
	}
	lock, err := takeLock(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("open ledger %q: %w", dir, err)
	}
	l := &Ledger{dir: dir, sweep: sweep, lock: lock, fileSize: maxFile}
	report, err := l.load()
	if err != nil {
		l.closeFiles()
		lock.Close()
		return nil, nil, fmt.Errorf("open ledger %q: %w", dir, err)
	}
	return l, report, nil
}

// takeLock locks the file "lock", in which the holder leaves its name.
func takeLock(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		defer f.Close()
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %q: %w", f.Name(), err)
		}
		holder := make([]byte, 256)
		n, _ := f.ReadAt(holder, 0)
		name := cmp.Or(string(bytes.TrimSpace(holder[:n])), "another process")
		return nil, fmt.Errorf("%s holds it: wait for that or stop it", name)
	}
	host, _ := os.Hostname()
	name := fmt.Sprintf("process %d on host %s", os.Getpid(), host)
	_, _ = f.WriteAt(fmt.Appendf(nil, "%-255s\n", name), 0) // a courtesy to the one who finds it locked
	return f, nil
}

// load reads all files into a new index.
func (l *Ledger) load() (*Report, error) {
	l.index, l.known = Index{}, map[Conflict]bool{}
	if err := l.openFiles(); err != nil {
		return nil, err
	}
	r, lost := &Report{}, losses{}
	for i := range l.files {
		if err := l.loadFile(i, r, lost); err != nil {
			return nil, err
		}
	}
	r.Lost = lost.without(l.index)
	l.dirty = len(l.files) > 0 // a process that was killed may have written more than it synced
	for _, c := range l.index {
		for _, p := range c.points {
			r.Outcomes += p.rows
		}
	}
	return r, nil
}

// removeRests removes what an interrupted Drop left.
func (l *Ledger) removeRests() error {
	rests, err := Glob(l.dir, "*.log.new")
	if err != nil {
		return err
	}
	for _, path := range rests {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// glob is the paths under a folder that match a pattern. The folder's own name is no pattern: it may be "run[1]".
func Glob(dir, pattern string) (paths []string, err error) {
	names, err := fs.Glob(os.DirFS(dir), pattern)
	for _, name := range names {
		paths = append(paths, filepath.Join(dir, name))
	}
	return paths, err
}

// openFiles opens the log's files in order.
func (l *Ledger) openFiles() error {
	mode := os.O_RDONLY
	if !l.readOnly {
		mode = os.O_RDWR
		if err := l.removeRests(); err != nil {
			return err
		}
	}
	paths, err := Glob(l.dir, "[0-9][0-9][0-9][0-9].log")
	if err != nil {
		return err
	}
	slices.Sort(paths)
	for _, path := range paths {
		f, err := os.OpenFile(path, mode, 0)
		if err != nil {
			return err
		}
		l.files = append(l.files, &logFile{f: f})
		info, err := f.Stat()
		if err != nil {
			return err
		}
		l.files[len(l.files)-1].size = info.Size()
	}
	return nil
}

func (l *Ledger) closeFiles() {
	for _, f := range l.files {
		f.f.Close()
	}
	l.files = nil
}

// loadFile reads one file. Only the last one can have a torn tail: a file is synced before the next one is begun.
func (l *Ledger) loadFile(i int, r *Report, lost losses) error {
	file := l.files[i]
	b, err := os.ReadFile(file.f.Name())
	if err != nil {
		return err
	}
	for at := 0; at < len(b); {
		p := NextPiece(b, at)
		damage := Damage{file.f.Name(), int64(p.At), int64(p.End - p.At), p.Reason}
		switch {
		case p.Reason == "":
			if err := l.loadFrame(i, p, r, lost); err != nil {
				return fmt.Errorf("read %q at %d: %w", file.f.Name(), p.At, err)
			}
			r.Frames++
		case p.End == len(b) && i == len(l.files)-1:
			r.Torn = &damage
			if l.readOnly {
				break
			}
			if err := file.cut(int64(p.At)); err != nil {
				return err
			}
		default:
			r.Damaged = append(r.Damaged, damage)
		}
		at = p.End
	}
	return nil
}

// cut shortens the file to size. The next sync of the file makes it last; until then nothing is lost by cutting again.
func (f *logFile) cut(size int64) error {
	f.size = size
	return f.f.Truncate(size)
}

func (l *Ledger) loadFrame(file int, p piece, r *Report, lost losses) error {
	b, err := l.decode(p.Msg)
	if err != nil {
		return err // its checksum is right: this is no damage but another release or another sweep
	}
	rest := HashRows(b)
	v := l.index.Judge(b, rest)
	lost.add(v)
	for _, c := range v.Conflicts {
		if !l.known[c.identity()] {
			l.known[c.identity()] = true
			r.Conflicts = append(r.Conflicts, c)
		}
	}
	if p.kind == FrameOutcomes {
		l.index.Commit(v, rest, FrameRef{file: int32(file), at: int64(p.At), length: int32(len(p.Msg))})
	}
	return nil
}
