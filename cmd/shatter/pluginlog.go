package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/shatterlab/shatter/pipeline/wording"
)

// maxPluginLog limits what a file of --plugin-log holds, in bytes.
const maxPluginLog = 16 << 20

// pluginLog is a file for what the processes of one plugin print. It is made when there is something to
// write, and holds no more than maxPluginLog. A failed write is reported at the end.
type pluginLog struct {
	path string

	mu   sync.Mutex
	file *os.File
	size int
	err  error
}

// logPlugins has what plugins print written to files in the folder dir, one for each plugin, from here on.
func (s *session) logPlugins(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return wrong("--plugin-log: %w", err)
	}
	for digest, c := range s.commands {
		l := &pluginLog{path: filepath.Join(dir, fmt.Sprintf("%s-%.12s.log", filepath.Base(c.Path), digest))}
		s.onClose(l.close)
		c.Output = l
		s.commands[digest] = c
	}
	return nil
}

// Write writes b, as far as there is room. It never fails: a plugin must not be stopped by its log.
func (l *pluginLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil && l.err == nil {
		l.file, l.err = os.Create(l.path)
	}
	if l.err != nil || l.size > maxPluginLog {
		return len(b), nil
	}
	if l.size += len(b); l.size > maxPluginLog {
		_, l.err = fmt.Fprintf(l.file, "\n[what follows is left out: the limit of %s is reached]\n",
			wording.Bytes(maxPluginLog))
		return len(b), nil
	}
	_, l.err = l.file.Write(b)
	return len(b), nil
}

func (l *pluginLog) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return l.err
	}
	err := errors.Join(l.err, l.file.Close())
	l.file, l.err = nil, os.ErrClosed
	return err
}
