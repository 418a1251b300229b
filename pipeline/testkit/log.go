package testkit

import (
	"strings"
	"sync"
)

// Log keeps what is written to it, while others write and read.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write appends b to the log.
func (l *Log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// String returns what was written so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
