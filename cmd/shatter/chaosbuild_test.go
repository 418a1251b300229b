//go:build long

package main

import (
	bits "encoding/binary"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// A build is one of the programs that machines run: this test, and itself under the name of the
// command.
type build struct {
	command, helper string
	shifted         bool // its wall clock is wrong by what the file of shiftVariable says
}

// shiftVariable names a file with the seconds, as an int64, by which the wall clock of a process is
// wrong. It is read again whenever somebody asks what time it is.
const shiftVariable = "SHATTER_CHAOS_CLOCK"

// shiftSource is what package time of the other build has in addition.
const shiftSource = `package time

import (
	"syscall"
	"unsafe"
)

var shift = func() *int64 {
	path, _ := syscall.Getenv("` + shiftVariable + `")
	file, err := syscall.Open(path, syscall.O_RDONLY, 0)
	if err != nil {
		return new(int64)
	}
	content, err := syscall.Mmap(file, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	return (*int64)(unsafe.Pointer(&content[0]))
}()
`

// buildOther builds this test once more, with a package time whose wall clock can be wrong: Go reads
// the clock without a system call, where nobody could interfere. The monotonic clock stays right, as
// it does when somebody sets the clock of a machine.
func (c *chaos) buildOther() build {
	c.Helper()
	dir := c.TempDir()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		c.Fatal(err)
	}
	path := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	source, err := os.ReadFile(path)
	if err != nil {
		c.Fatal(err)
	}
	const now = "\tsec, nsec, mono := runtimeNow()\n"
	if n := strings.Count(string(source), now); n != 1 {
		c.Fatalf("%s reads the clock at %d places, not at one", path, n)
	}
	shifted := write(c.T, filepath.Join(dir, "time.go"), strings.Replace(string(source), now, now+"\tsec += *shift\n", 1))
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {
		path: shifted,
		filepath.Join(filepath.Dir(path), "shift.go"): write(c.T, filepath.Join(dir, "shift.go"), shiftSource),
	}})
	if err != nil {
		c.Fatal(err)
	}
	b := build{filepath.Join(dir, "shatter"), filepath.Join(dir, "chaos.test"), true}
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-tags", "long", "-o", b.command,
		"-overlay", write(c.T, filepath.Join(dir, "overlay.json"), string(overlay)), ".")
	if out, err := cmd.CombinedOutput(); err != nil {
		c.Fatalf("%v: %v: %s", cmd, err, out)
	}
	if err := os.Link(b.command, b.helper); err != nil {
		c.Fatal(err)
	}
	return b
}

// program returns the build that the machine's process has.
func (m *machine) program() build { return m.builds[m.version%len(m.builds)] }

// shift makes the wall clock of the machine's process wrong by some seconds, at once.
func (m *machine) shift(seconds int64) {
	m.Helper()
	if _, err := m.clock.WriteAt(bits.NativeEndian.AppendUint64(nil, uint64(seconds)), 0); err != nil {
		m.Fatal(err)
	}
}

// upgrade ends everything in turn, workers, coordinators and servers, and starts the next build of it.
// A server ends when the one before has all that the cluster has.
func (c *chaos) upgrade() {
	c.Helper()
	for _, kind := range "wcs" {
		for _, m := range c.nodes {
			if m.name[0] != byte(kind) || m.cmd == nil {
				continue
			}
			m.end(syscall.SIGTERM)
			m.version++
			c.restore(m)
			m.start()
			for limit := time.Now().Add(time.Minute); c.restored[m] && time.Now().Before(limit); {
				time.Sleep(100 * time.Millisecond)
				c.refresh()
			}
		}
	}
}
