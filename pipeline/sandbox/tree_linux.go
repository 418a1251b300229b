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

// Measure measures the resources of a program's processes. shared is the part, in bytes, of the
// memory shared with other processes that belongs to the host. If the sum may exceed limit,
// Measure counts memory that processes of the program share only once, which is slower. ok is
// false if the program has ended.
func (l *Process) Measure(shared, limit int64) (u Usage, ok bool) {
	pids := tree(l.Cmd.Process.Pid)
	u.Processes = len(pids)
	if u.Memory, ok = held(pids, shared, "status"); ok && u.Memory > limit {
		exact, _ := held(pids, shared, "smaps_rollup", "status")
		u.Memory = min(u.Memory, exact)
	}
	return u, ok
}

// memoryFields lists, for a file of a process, three fields: private memory, swapped memory, and
// shared memory such as memory files. smaps_rollup divides shared memory between the processes,
// and its cost grows with the size of the process.
var memoryFields = map[string][3]string{
	"status": {"RssAnon", "VmSwap", "RssShmem"}, "smaps_rollup": {"Pss_Anon", "SwapPss", "Pss_Shmem"},
}

// held returns the total memory of processes, each read from the first readable file. ok is false
// if no file is readable.
func held(pids []int, shared int64, files ...string) (total int64, ok bool) {
	common := int64(0)
	for _, pid := range pids {
		for _, file := range files {
			b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
			if err != nil {
				continue
			}
			f, names := kilobytes(b), memoryFields[file]
			total, common, ok = total+f[names[0]]+f[names[1]], common+f[names[2]], true
			break
		}
	}
	return total + max(0, common-shared), ok
}

// kilobytes parses lines of the form "Name: 12 kB", and returns bytes.
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

// tree returns a process and all its descendants. A process whose parent has ended becomes a
// child of the program itself.
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

// Kill sends SIGKILL to a program and to all its descendants. The caller must not have waited for
// the program.
func (l *Process) Kill() {
	pid := l.Cmd.Process.Pid
	_ = unix.Kill(-pid, unix.SIGKILL)
	pids := tree(pid)
	for i := range pids { // the program last: until then orphans become its children
		_ = unix.Kill(pids[len(pids)-1-i], unix.SIGKILL)
	}
}

// Release ends the remaining processes of a program. The program must have ended, and the caller
// must have waited for it.
func (l *Process) Release() {
	forks.Lock()
	defer forks.Unlock()
	delete(running, l.Cmd.Process.Pid)
	for reaper {
		left := strays()
		for _, p := range left {
			_ = unix.Kill(p, unix.SIGKILL)
		}
		for _, p := range left {
			_, _ = unix.Wait4(p, nil, 0, nil) // its children become children of this process
		}
		if len(left) == 0 {
			break
		}
	}
}

// strays returns the children of this process that were orphaned by programs: they have more
// filters than this process, and the limit of programs, and are not programs themselves. forks
// must be held.
func strays() (pids []int) {
	ours := filters(os.Getpid())
	for _, p := range children(os.Getpid()) {
		if running[p] || filters(p) <= ours {
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
	const most = 10_000 // more files count as too large
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
