package pluginfile

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// files writes executable files, and plain ones whose names begin with "-", into a folder.
func files(t testing.TB, names ...string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "acme")
	for _, name := range names {
		mode := fs.FileMode(0o755)
		if strings.HasPrefix(name, "-") {
			name, mode = name[1:], 0o644
		}
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(path, []byte("#!"+name), mode)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func sum(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// The identity of a file is that of its content, and the identity of a set that of its list, for
// any names of the files and other files in the folder.
func TestIdentity(t *testing.T) {
	one := filepath.Join(files(t, "third"), "third")
	p, err := Read(one)
	if err != nil {
		t.Fatal(err)
	}
	if here, err := p.Here(); p.Digest != sum("#!third") || here != one || err != nil {
		t.Errorf("%+v, %q, %v", p, here, err)
	}
	dir := files(t, "acme_linux_arm64", "darwin-arm64", "acme-1.2.linux-amd64", "-README", "-linux.md")
	if err := os.Mkdir(filepath.Join(dir, "linux_amd64"), 0o755); err != nil {
		t.Fatal(err)
	}
	set, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	list := "shatter plugin set 1\ndarwin/arm64 " + sum("#!darwin-arm64") +
		"\nlinux/amd64 " + sum("#!acme-1.2.linux-amd64") +
		"\nlinux/arm64 " + sum("#!acme_linux_arm64") + "\n"
	if d := cmp.Diff(list, string(set.List())); d != "" || set.Digest != sum(list) {
		t.Errorf("%s %s", set.Digest, d)
	}
	here, err := set.Here()
	want := map[string]string{
		"linux/amd64": "acme-1.2.linux-amd64", "linux/arm64": "acme_linux_arm64", "darwin/arm64": "darwin-arm64",
	}[Here]
	if want == "" || here != filepath.Join(dir, want) || err != nil {
		t.Errorf("%s: %q, %v", Here, here, err)
	}

	path := filepath.Join(dir, "-list")
	if err := os.WriteFile(path, []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := ReadList(path)
	if err != nil || len(read) != 3 || read[1] != (File{Platform: "linux/amd64", Digest: sum("#!acme-1.2.linux-amd64")}) {
		t.Errorf("%+v, %v", read, err)
	}
	if read, err := ReadList(one); read != nil || err != nil {
		t.Errorf("a plugin: %+v, %v", read, err)
	}
}

// Builds agree on the identity of an algorithm, even if their bytes differ. Different algorithms
// and versions have different identities.
func TestBuiltinDigest(t *testing.T) {
	const want = "55b55606a2d858b1aaa00f27a23f712f88e30aad8a07e4f244ba8b13f3cb9b58"
	same := BuiltinDigest("a/b", "1.0.0")
	if same != want || same == BuiltinDigest("a/b", "1.0.1") || same == BuiltinDigest("a/c", "1.0.0") {
		t.Errorf("%s, want %s: every folder and cache has the old ones", same, want)
	}
}

func TestMistakes(t *testing.T) {
	for want, dir := range map[string]string{
		`is for none: name it like acme_linux_amd64`:        files(t, "linux_amd64", "tool"),
		`is for none: name it like acme_linux_amd64, or`:    files(t, "linux_amd64", "acme_linux_mips"),
		`is not executable: chmod +x it`:                    files(t, "-acme_linux_arm64"),
		`are both for linux/arm64`:                          files(t, "acme_linux_arm64", "old_linux_arm64", "linux_amd64"),
		`is a folder without a file of a plugin`:            files(t, "-README"),
		`no such file`:                                      files(t),
		`is a program for ` + Here + `: its name says plan`: "",
	} {
		if dir == "" { // program of this machine, named for another one
			other := map[string]string{"linux": "darwin", "darwin": "linux"}[runtime.GOOS] + "_amd64"
			want = strings.Replace(want, "plan", strings.Replace(other, "_", "/", 1), 1)
			dir = files(t, "linux_arm64", "darwin_arm64")
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(self, filepath.Join(dir, other)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	other := map[string]string{"amd64": "linux_arm64", "arm64": "linux_amd64"}[runtime.GOARCH]
	p, err := Open(files(t, other))
	if err != nil {
		t.Fatal(err)
	}
	var platform *PlatformError
	if _, err := p.Here(); !errors.As(err, &platform) || platform.Want != Here || len(platform.Has) != 1 {
		t.Errorf("%v", err)
	}
}

// A list from an untrusted server is accepted only in the exact form that this package writes.
func FuzzList(f *testing.F) {
	line := "linux/amd64 " + sum("x") + "\n"
	for _, lines := range []string{
		line, line + line, "linux/arm64" + line[11:] + line, "", "x\n", line[:30], line + "\n",
	} {
		f.Add(listHead + lines)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "list")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		files, err := ReadList(path)
		if err == nil && files != nil && string((&Plugin{Files: files}).List()) != text {
			t.Errorf("%q is taken for %+v", text, files)
		}
	})
}
