package queue

import (
	"strings"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// credential returns the content of a credentials file.
func credential(t testing.TB, name string, tags ...string) []byte {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	signer, err := nkeys.CreateAccount()
	must(err)
	account, err := signer.PublicKey()
	must(err)
	user, err := nkeys.CreateUser()
	must(err)
	public, err := user.PublicKey()
	must(err)
	seed, err := user.Seed()
	must(err)
	token, err := jwt.IssueUserJWT(signer, account, public, name, 0, tags...)
	must(err)
	text, err := jwt.FormatUserConfig(token, seed)
	must(err)
	return text
}

// A credentials file may hold anything: it is refused, or has a token and a key that can sign.
func FuzzCredential(f *testing.F) {
	whole := credential(f, "w", RoleTag(Worker))
	f.Add(whole)
	f.Add(credential(f, "x\x1b[2J", RoleTag(Submitter), RoleTag(Coordinator)))
	f.Add(whole[:len(whole)/2])
	f.Add([]byte(strings.Replace(string(whole), "SU", "SA", 1)))
	f.Add([]byte("-----BEGIN NATS USER JWT-----\n\n------END NATS USER JWT------\n"))
	f.Add([]byte("eyJ0eXAiOiJKV1QiLCJhbGciOiJlZDI1NTE5LW5rZXkifQ.e30.AA"))
	f.Fuzz(func(t *testing.T, text []byte) {
		who, err := decodeCredential(text)
		if _, noKey := jwt.ParseDecoratedUserNKey(text); err == nil && noKey != nil {
			t.Errorf("%+v: %v", who, noKey)
		}
	})
}

// The subject of a result may be anything.
func FuzzSubject(f *testing.F) {
	for _, subject := range []string{
		"s.w.1.j.0.1", "s.1", "s.w.job.with.many.dots", ".w.1.j.0.1", "s.w.-1.j.1.1", "s.w.18446744073709551616.j.0.1",
		"s.w.1.j.99999999999999999999.1", "",
	} {
		f.Add(subject)
	}
	f.Fuzz(func(t *testing.T, subject string) {
		if p, ok := ParsePart(resultSubject + subject); ok {
			if again, ok := ParsePart(p.subject()); !ok || again != p || p.Index < 0 || p.Index >= p.Of {
				t.Errorf("%q: %+v", subject, p)
			}
		}
	})
}
