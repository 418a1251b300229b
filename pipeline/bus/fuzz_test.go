package bus

import (
	"strings"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
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

// A credentials file may hold anything: it is refused, or has a token and a key that signs.
func FuzzCredential(f *testing.F) {
	whole := credential(f, "w", RoleTag(Worker))
	f.Add(whole)
	f.Add(credential(f, "x\x1b[2J", RoleTag(Submitter), RoleTag(Coordinator)))
	f.Add(whole[:len(whole)/2])
	f.Add([]byte(strings.Replace(string(whole), "SU", "SA", 1)))
	f.Add([]byte("-----BEGIN NATS USER JWT-----\n\n------END NATS USER JWT------\n"))
	f.Add([]byte("eyJ0eXAiOiJKV1QiLCJhbGciOiJlZDI1NTE5LW5rZXkifQ.e30.AA"))
	f.Fuzz(func(t *testing.T, text []byte) {
		who, token, key, err := decodeCredential(text)
		if err != nil {
			return
		}
		if _, err := key.Sign([]byte("nonce")); err != nil || token == "" {
			t.Errorf("%+v: token %q, %v", who, token, err)
		}
	})
}

// What others send has a subject and content that may be anything, as may the answers of a server.
func FuzzMessage(f *testing.F) {
	for _, subject := range []string{
		"s.1.w.j.0.1", "s.1", "s.1.job.with.dots", ".1", "s.-1.w.j.1.1", "s.18446744073709551616",
		"s.1.w.j.99999999999999999999.1", "",
	} {
		f.Add(subject, []byte(`["a","b"]`))
	}
	f.Add("s.1", []byte(`{"stream":"x","seq":1}`))
	f.Add("s.1", []byte(`{"error":{"code":400,"err_code":10071}}`))
	two := pack([]Result{{Part{"w", "j", 0, 1}, []byte("a")}, {Part{"w", "k", 1, 2}, nil}})
	for _, subject := range []string{"s.1.w.j.2", "s.1.w.k.2", "s.1.w.j.3", "s.1.w.j.1", "s.1.w.j.65", "s.1.w.j.2.3"} {
		f.Add(subject, two)
	}
	f.Add("s.1.w.j.2", two[:len(two)-2])
	f.Add("s.1.w.j.2", append([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, two...))
	f.Fuzz(func(t *testing.T, subject string, data []byte) {
		lead, rest, ok := parseLead(subject)
		if ok && (lead.Sweep == "" || strings.Contains(lead.Sweep, ".") || len(rest) > len(subject)) {
			t.Errorf("%q: %+v, %q", subject, lead, rest)
		}
		if p, ok := parsePart(rest); ok {
			if again, ok := parsePart(p.String()); !ok || again != p || p.Index < 0 || p.Index >= p.Of {
				t.Errorf("%q: %+v", subject, p)
			}
		}
		if to, results, ok := ResultsOf(resultSubject+subject, data); ok {
			if len(results) == 0 || len(results) > MostTogether || to.Sweep == "" {
				t.Errorf("%q: %d results for %+v", subject, len(results), to)
			}
			size := 0
			for _, r := range results {
				size += len(r.Data)
				if r.Worker != results[0].Worker || !strings.Contains(subject, "."+r.Worker+".") || r.Index >= r.Of {
					t.Errorf("%q: a result of %+v", subject, r.Part)
				}
			}
			if size > len(data) {
				t.Errorf("%q: results of %d bytes", data, size)
			}
		}
		m := &nats.Msg{Subject: subject, Data: data}
		if ids, ok := dropped(m); ok && len(ids) > len(data) {
			t.Errorf("%q: %d ids", data, len(ids))
		}
		if err := refusal(m); err == nil && !strings.HasPrefix(string(data), `{"stream":`) {
			t.Errorf("%q passes for stored", data)
		}
	})
}
