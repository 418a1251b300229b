//go:build !linux

package mailbox

import (
	"errors"
	"sync/atomic"
	"time"
)

// wait waits for d.
func wait(_ *atomic.Uint32, _ uint32, d time.Duration) { time.Sleep(d) }

// wake returns an error, for which no mailbox is opened.
func wake(*atomic.Uint32) error { return errors.ErrUnsupported }
