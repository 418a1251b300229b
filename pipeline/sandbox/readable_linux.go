//go:build amd64 || arm64

package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// system lists the paths that every program may read and execute: libraries, the files that they
// read when they are loaded, and the kernel's information about the machine and the program
// itself.
var system = []string{
	"/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/nix/store", "/gnu/store",
	"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/alternatives",
	"/etc/localtime", "/etc/ssl/openssl.cnf", "/etc/pki/tls/openssl.cnf", "/etc/crypto-policies",
	"/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/sys/vm/overcommit_memory",
	"/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/kernel/mm/transparent_hugepage",
	"/dev/random", "/dev/urandom",
}

// devices lists the devices that every program may read and write.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full"}

// readable returns the paths that a program with this content may read.
func (p Program) readable(m *image) []string {
	read := slices.Concat(system, p.Policy.Read, []string{p.Path}, prefix(p.Path))
	for _, program := range interpreters(m.script) {
		read = append(append(read, program), prefix(program)...)
		if dir := filepath.Dir(program); filepath.Base(dir) == "shims" { // of pyenv: scripts that look for the program
			if found, err := exec.LookPath(filepath.Base(program)); err == nil && found == program {
				read = append(read, filepath.Dir(dir))
			}
		}
	}
	for _, v := range p.Env {
		name, value, _ := strings.Cut(v, "=")
		if name == "LD_LIBRARY_PATH" || name == "PYTHONPATH" {
			for _, path := range filepath.SplitList(value) {
				if filepath.IsAbs(path) {
					read = append(read, path)
				}
			}
		}
	}
	return read
}

// interpreters returns the programs in the first line of a script. If env looks up the
// interpreter, it returns env and the interpreter.
func interpreters(words []string) []string {
	if len(words) == 0 || !filepath.IsAbs(words[0]) {
		return nil
	}
	paths := words[:1:1]
	if filepath.Base(words[0]) != "env" {
		return paths
	}
	if found, err := exec.LookPath(interpreter(words)); err == nil {
		if found, err = filepath.Abs(found); err == nil {
			paths = append(paths, found)
		}
	}
	return paths
}

// interpreter returns the interpreter of a script with such a first line: the program in it, or
// the program that env looks up.
func interpreter(words []string) string {
	for i, word := range words {
		if i == 0 && filepath.Base(word) == "env" || strings.HasPrefix(word, "-") || strings.Contains(word, "=") {
			continue
		}
		return word
	}
	return "env"
}

// isPython reports whether a script with such a first line is a Python script.
func isPython(words []string) bool {
	return strings.HasPrefix(filepath.Base(interpreter(words)), "python")
}

// prefix returns what belongs to a program in a folder bin: the libraries next to that folder, and those next to the
// folder of the file to which a symbolic link leads.
func prefix(program string) (paths []string) {
	files := []string{program}
	for at := program; ; {
		to, err := os.Readlink(at)
		if err != nil || len(files) > 20 {
			break
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(at), to)
		}
		files, at = append(files, to), to
	}
	if final, err := filepath.EvalSymlinks(program); err == nil {
		files = append(files, final)
	}
	for _, file := range files {
		if dir := filepath.Dir(file); filepath.Base(dir) == "bin" {
			up := filepath.Dir(dir)
			paths = append(paths, file, filepath.Join(up, "lib"), filepath.Join(up, "lib64"), filepath.Join(up, "pyvenv.cfg"))
		}
	}
	if home, err := os.UserHomeDir(); err == nil && strings.HasPrefix(filepath.Base(program), "python") {
		paths = append(paths, filepath.Join(home, ".local", "lib"))
	}
	return paths
}
