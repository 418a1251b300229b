package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/shatterlab/shatter/pipeline/queue/queuetest"
	"github.com/shatterlab/shatter/pipeline/testkit"
)

// A secured is a cluster with a server as `shatter cluster init` has configured it.
type secured struct {
	*testing.T
	dir, url string
}

// newSecured makes a cluster, whose server listens at an address of this machine.
func newSecured(t *testing.T, address string) *secured {
	t.Helper()
	c := &secured{T: t, dir: filepath.Join(t.TempDir(), "cluster")}
	if _, stderr, code := shatter(t, "cluster", "init", c.dir); code != exitDone {
		t.Fatal(stderr)
	}
	c.url = c.serve(address)
	return c
}

// serve starts the server, on a free port.
func (c *secured) serve(address string) (url string) {
	c.Helper()
	options := serverOptions(c.T, filepath.Join(c.dir, "server-localhost"))
	options.Host, options.Port, options.StoreDir = address, server.RANDOM_PORT, c.TempDir()
	return queuetest.Serve(c, options).ClientURL()
}

// serverOptions reads the configuration in the folder of a server, as one that is started there does.
func serverOptions(t *testing.T, dir string) *server.Options {
	t.Helper()
	text := contents(t, filepath.Join(dir, "nats.conf"))
	for _, name := range []string{"cert.pem", "key.pem", "ca.pem"} {
		text = strings.ReplaceAll(text, `"`+name+`"`, `"`+filepath.Join(dir, name)+`"`)
	}
	options, err := queuetest.Options(write(t, filepath.Join(t.TempDir(), "nats.conf"), text))
	if err != nil {
		t.Fatal(err)
	}
	return options
}

// issue issues credentials, or renews them, and returns the path of the file.
func (c *secured) issue(args ...string) string {
	c.Helper()
	out, stderr, code := shatter(c.T, append(append([]string{"cluster"}, args...), "--dir", c.dir)...)
	if code != exitDone {
		c.Fatal(stderr)
	}
	return strings.TrimSpace(out)
}

// as returns the flags of a command for the holder of credentials.
func (c *secured) as(name string) []string {
	return []string{"--server", c.url, "--tls-ca", filepath.Join(c.dir, "ca.pem"),
		"--creds", filepath.Join(c.dir, name+".creds")}
}

// start starts a process of the holder of credentials.
func (c *secured) start(name string, args ...string) *exec.Cmd {
	c.Helper()
	cmd := exec.Command(binary(c), append(args, c.as(name)...)...)
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+c.TempDir())
	start(c.T, cmd)
	return cmd
}

func contents(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A coordinator, a worker and a submitter, each with its own credentials, give the digest of a run here.
// The worker goes on with renewed credentials when those that it began with have expired.
func TestSecureCluster(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	c := newSecured(t, "127.0.0.1")
	c.start("coordinator", "coordinator", "--dir", filepath.Join(t.TempDir(), "sweeps"), "--lease", "1s")
	const good = 8 * time.Second // time for processes to start on a busy machine
	c.issue("worker", "w1", "--expires", good.String())
	issued := time.Now()
	c.start("w1", "worker", "--workers", "1")
	waitFor(t, "it works", func() bool {
		_, stderr, _ := shatter(t, append([]string{"workers"}, c.as("submitter")...)...)
		return strings.Contains(stderr, "1 worker")
	})
	time.Sleep(time.Until(issued.Add(good)))
	c.issue("renew", "w1")
	file := write(t, filepath.Join(t.TempDir(), "sweep.yaml"), clusterSweep)
	_, watched, code := shatter(t, append([]string{"submit", file, "--wait"}, c.as("submitter")...)...)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, watched)
	}
	if got, want := digest(t, watched), (&cluster{T: t}).local(clusterSweep); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}

// The first coordinator of a team adds it to the servers, which have to be informed; others join it.
func TestClusterTeam(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cluster")
	for _, tt := range []struct {
		args, want string
		code       int
	}{
		{"cluster init " + dir, "nats-server -c nats.conf", exitDone},
		{"cluster worker w1 --team blue --dir " + dir, "shatter cluster coordinator NAME --team blue", exitUsage},
		{"cluster coordinator chief --team blue --dir " + dir, "nats-server --signal reload", exitDone},
		{"cluster worker w1 --team blue --dir " + dir, "", exitDone},
	} {
		_, stderr, code := shatter(t, strings.Fields(tt.args)...)
		if code != tt.code || !strings.Contains(stderr, tt.want) || tt.want == "" && stderr != "" {
			t.Errorf("%s: exit %d: %s", tt.args, code, stderr)
		}
	}
}

// Credentials and certificates that do not fit: one message with the remedy, exit code 4.
func TestMisfits(t *testing.T) {
	t.Parallel()
	c, other := newSecured(t, "127.0.0.1"), newSecured(t, "127.0.0.2")
	c.issue("worker", "w1")
	c.issue("submitter", "late", "--expires", "1s")
	plain := startServer(t)
	ca, creds := filepath.Join(c.dir, "ca.pem"), filepath.Join(c.dir, "submitter.creds")
	otherCA, foreign := filepath.Join(other.dir, "ca.pem"), filepath.Join(other.dir, "submitter.creds")
	time.Sleep(1100 * time.Millisecond) // credentials count seconds
	for _, tt := range []struct {
		name string
		args []string
		want []string
	}{
		{"nothing served yet", append([]string{"sweeps"}, c.as("submitter")...),
			[]string{"no coordinator has served there yet"}},
		{"expired", append([]string{"sweeps"}, c.as("late")...),
			[]string{"credentials have expired", "shatter cluster renew late"}},
		{"foreign", []string{"sweeps", "--server", c.url, "--tls-ca", ca, "--creds", foreign},
			[]string{"it does not know who issued", "for this very cluster"}},
		{"no credentials", []string{"sweeps", "--server", c.url, "--tls-ca", ca}, []string{"access refused", "--creds"}},
		{"of a worker", append([]string{"sweeps"}, c.as("w1")...),
			[]string{"of the worker w1", "shatter cluster submitter NAME"}},
		{"of a submitter", append([]string{"worker"}, c.as("submitter")...),
			[]string{"shatter cluster worker NAME"}},
		{"no file", append([]string{"sweeps"}, c.as("nobody")...), []string{"nobody.creds: no such file"}},
		{"no credentials in it", []string{"sweeps", "--server", c.url, "--creds", ca},
			[]string{"is no credentials file"}},
		{"wrong authority", []string{"sweeps", "--server", c.url, "--tls-ca", otherCA, "--creds", creds},
			[]string{"unknown authority", "--tls-ca"}},
		{"no authority", []string{"sweeps", "--server", c.url, "--creds", creds},
			[]string{"unknown authority", "--tls-ca"}},
		{"another name", append([]string{"sweeps"}, other.as("submitter")...),
			[]string{"certificate of the NATS server is not accepted", "127.0.0.1", "--host"}},
		{"no encryption", []string{"sweeps", "--server", plain, "--tls-ca", ca},
			[]string{"secure connection not available", "files of TLS"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, stderr, code := shatter(t, tt.args...)
			if code != exitConnection || strings.Count(stderr, "\n") != 1 {
				t.Errorf("exit %d: %s", code, stderr)
			}
			for _, want := range tt.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("%q is not in %s", want, stderr)
				}
			}
		})
	}
}

// certificate writes a certificate for 127.0.0.1, good until a time, and its key, and returns their paths
// and the authorities that trust it.
func certificate(t *testing.T, until time.Time) (cert, key string, trusted *x509.CertPool) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotAfter: until, IsCA: true, BasicConstraintsValid: true}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	pemOf := func(kind string, raw []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}))
	}
	dir := t.TempDir()
	cert = write(t, filepath.Join(dir, "cert.pem"), pemOf("CERTIFICATE", raw))
	key = write(t, filepath.Join(dir, "key.pem"), pemOf("PRIVATE KEY", secret))
	trusted = x509.NewCertPool()
	trusted.AppendCertsFromPEM([]byte(pemOf("CERTIFICATE", raw)))
	return cert, key, trusted
}
