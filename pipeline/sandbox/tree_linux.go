//go:build amd64 || arm64

package sandbox

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Usage is what a program and all that it has started hold.
type Usage struct {
	Processes int
	Memory    int64 // bytes, in memory or swapped out
}

// Measure measures the processes of a program. Of the memory that they share with others, shared
// bytes are its host's. If more than limit may be in use, it looks more closely: memory that
// processes of the program share is then counted once. ok is false if the program is gone.
func Measure(pid int, shared, limit int64) (u Usage, ok bool) {
	pids := tree(pid)
	sum := func(of func(pid int) (own, common int64, ok bool)) (total int64, ok bool) {
		all := int64(0)
		for _, p := range pids {
			own, common, found := of(p)
			ok = ok || found
			total, all = total+own, all+common
		}
		return total + max(0, all-shared), ok
	}
	u.Processes = len(pids)
	if u.Memory, ok = sum(statusMemory); !ok || u.Memory <= limit {
		return u, ok
	}
	if exact, ok := sum(proportionalMemory); ok {
		u.Memory = min(u.Memory, exact)
	}
	return u, true
}

// statusMemory returns the memory that a process has for itself, and what it shares through memory
// files and the like.
func statusMemory(pid int) (own, common int64, ok bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, false
	}
	f := kilobytes(b)
	return f["RssAnon"] + f["VmSwap"], f["RssShmem"], true
}

// proportionalMemory does what statusMemory does, with the part of what processes share that is the
// process's own: it takes as long as the process is large. It says nothing of processes that do not
// let us look.
func proportionalMemory(pid int) (own, common int64, ok bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return statusMemory(pid)
	}
	f := kilobytes(b)
	return f["Pss_Anon"] + f["SwapPss"], f["Pss_Shmem"], true
}

// kilobytes reads lines of the form "Name: 12 kB", in bytes.
func kilobytes(text []byte) map[string]int64 {
	f := map[string]int64{}
	for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
		name, value, _ := strings.Cut(s.Text(), ":")
		if number, ok := strings.CutSuffix(value, " kB"); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
			f[name] = n << 10
		}
	}
	return f
}

// tree returns a process and all that descend from it. Those whose parent has ended descend from the
// program itself, which takes them in.
func tree(pid int) []int {
	pids := []int{pid}
	for i := 0; i < len(pids) && len(pids) <= 16*MaxProcesses; i++ {
		pids = append(pids, children(pids[i])...)
	}
	return pids
}

func children(pid int) (pids []int) {
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil
	}
	for _, t := range threads {
		list, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, t.Name()))
		for _, word := range bytes.Fields(list) {
			if child, err := strconv.Atoi(string(word)); err == nil {
				pids = append(pids, child)
			}
		}
	}
	return pids
}

// Kill sends SIGKILL to a program and to all that descend from it. The program must not have been
// waited for.
func Kill(pid int) {
	_ = unix.Kill(-pid, unix.SIGKILL)
	forks.Lock()
	programs[pid].kill()
	forks.Unlock()
	pids := tree(pid)
	for i := range pids { // the program last: until then it takes in those whose parents end
		_ = unix.Kill(pids[len(pids)-1-i], unix.SIGKILL)
	}
}

// Forget ends what a program left behind that has ended and was waited for.
func Forget(pid int) {
	forks.Lock()
	g := programs[pid]
	g.kill()
	delete(programs, pid)
	endStrays()
	forks.Unlock()
	g.remove()
}

// endStrays ends what programs have left to this process. forks is held.
func endStrays() {
	for takesIn {
		left := strays()
		for _, p := range left {
			_ = unix.Kill(p, unix.SIGKILL)
		}
		for _, p := range left {
			_, _ = unix.Wait4(p, nil, 0, nil) // those that it has left come to us now
		}
		if len(left) == 0 {
			return
		}
	}
}

// strays returns the children of this process that programs have left to it: they have filters that
// this process has not, and the limit of programs, and are no programs themselves. forks is held.
func strays() (pids []int) {
	ours := filters(os.Getpid())
	for _, p := range children(os.Getpid()) {
		if _, known := programs[p]; known || filters(p) <= ours {
			continue
		}
		var size unix.Rlimit
		if unix.Prlimit(p, unix.RLIMIT_FSIZE, nil, &size) == nil && size.Max <= maxFile {
			pids = append(pids, p)
		}
	}
	return pids
}

// filters returns the number of seccomp filters of a process.
func filters(pid int) int {
	n, _ := StatusNumber(pid, "Seccomp_filters")
	return n
}

// FolderSize returns the size of the files in a program's folder, as far as they are visible.
func FolderSize(dir string) (size int64) {
	const most = 10_000 // files: more are as good as too large
	files := 0
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if files++; files > most {
			size = MaxFolder + 1
			return filepath.SkipAll
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return nil
	})
	return size
}
