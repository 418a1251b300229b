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

// Measure measures the processes of a program. Of the memory that they share with others, shared
// bytes are its host's. If more than limit may be in use, it looks more closely: memory that
// processes of the program share is then counted once. ok is false if the program is gone.
func (l *Process) Measure(shared, limit int64) (u Usage, ok bool) {
	pids := tree(l.Cmd.Process.Pid)
	u.Processes = len(pids)
	if u.Memory, ok = held(pids, shared, "status"); ok && u.Memory > limit {
		exact, _ := held(pids, shared, "smaps_rollup", "status")
		u.Memory = min(u.Memory, exact)
	}
	return u, ok
}

// memoryFields lists, for a file of a process, the fields of the memory that it has for itself, of that which
// is swapped out, and of memory files and the like that it shares. smaps_rollup divides what processes share
// between them, and takes as long as the process is large.
var memoryFields = map[string][3]string{
	"status": {"RssAnon", "VmSwap", "RssShmem"}, "smaps_rollup": {"Pss_Anon", "SwapPss", "Pss_Shmem"},
}

// held adds the memory of processes up, by the first of the files that each of them lets us read. ok is false if
// there is none.
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
func (l *Process) Kill() {
	pid := l.Cmd.Process.Pid
	_ = unix.Kill(-pid, unix.SIGKILL)
	l.group.kill()
	pids := tree(pid)
	for i := range pids { // the program last: until then orphans become its children
		_ = unix.Kill(pids[len(pids)-1-i], unix.SIGKILL)
	}
}

// OutOfMemory reports whether the kernel ended processes of a program because they took more than
// [Program.Memory] together. It must not be called after Release.
func (l *Process) OutOfMemory() bool { return l.group.outOfMemory() }

// Release ends the processes that a program left behind. The program has ended and was waited for.
func (l *Process) Release() {
	l.group.kill()
	forks.Lock()
	delete(running, l.Cmd.Process.Pid)
	for reaper {
		left := strays()
		for _, p := range left {
			_ = unix.Kill(p, unix.SIGKILL)
		}
		for _, p := range left {
			_, _ = unix.Wait4(p, nil, 0, nil) // its own children become ours now
		}
		if len(left) == 0 {
			break
		}
	}
	forks.Unlock()
	l.group.remove()
}

// strays returns the children of this process that programs left to it: they have more filters than this
// process, and the limit of programs, and are no programs themselves. forks is held.
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
