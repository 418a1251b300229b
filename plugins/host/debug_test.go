package host

import (
	"errors"
	"testing"
	"time"

	"github.com/shatterlab/shatter/plugins/host/sandbox"
)

// A process that is debugged waits until the person is ready; limits and sandbox are off.
func TestDebug(t *testing.T) {
	refused := errors.New("nobody is there")
	c := Command{Trial: time.Nanosecond, Memory: 1, Debug: func(int) error { return refused }}
	if d := c.withDefaults(); d.Trial != debugTime || d.Memory != debugMemory || d.Sandbox.Mode != sandbox.Off {
		t.Errorf("limits hold while it is debugged: %+v", d)
	}
}
