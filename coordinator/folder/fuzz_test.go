package folder

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/shatterlab/shatter/pipeline/testkit"
)

// The files beside a ledger may hold anything: a folder comes from another machine.
func FuzzReadRecord(f *testing.F) {
	f.Add([]byte(`{"format":1,"id":"a","seed":1,"source":"bmFtZTogeA==","runs":1}`), []byte(`{"digest":"d","runs":[{}]}`))
	dir := testkit.MemoryDir(f)
	if err := os.Mkdir(filepath.Join(dir, "ledger"), 0o700); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, owner, manifest []byte) {
		for path, content := range map[string][]byte{ownerPath(dir): owner, manifestPath(dir): manifest} {
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if r, err := ReadRecord(dir); err == nil && (r.ID() == "" || len(r.Source) == 0) {
			t.Errorf("%+v", r)
		}
		ResultStands(dir)
	})
}
