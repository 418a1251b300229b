package queue

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/shatterlab/shatter/pipeline/disk"
)

// TLS names the PEM files of an encrypted connection. With the zero value, a connection to a server
// with TLS uses the authorities that this machine trusts.
type TLS struct {
	CA        string // authority that signed the server's certificate; if set, connections without TLS fail
	Cert, Key string // this party's certificate, if the server requires one
}

// options returns the options that read the files for each connection, so that new files take
// effect without a restart.
func (t TLS) options() []nats.Option {
	var own nats.TLSCertHandler
	var authorities nats.RootCAsHandler
	if t.Cert != "" || t.Key != "" {
		own = t.Certificate
	}
	if t.CA != "" {
		authorities = t.authorities
	}
	if own == nil && authorities == nil {
		return nil
	}
	return []nats.Option{nats.ClientTLSConfig(own, authorities)}
}

// Certificate reads the certificate and its key.
func (t TLS) Certificate() (pair tls.Certificate, err error) {
	cert, err := ReadPEM(t.Cert)
	if err != nil {
		return pair, err
	}
	key, err := ReadPEM(t.Key)
	if err != nil {
		return pair, err
	}
	if pair, err = tls.X509KeyPair(cert, key); err != nil {
		err = fmt.Errorf("certificate %q with key %q: %w", t.Cert, t.Key, err)
	}
	return pair, err
}

func (t TLS) authorities() (*x509.CertPool, error) {
	text, err := ReadPEM(t.CA)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%q holds no certificate of an authority in PEM", t.CA)
	}
	return pool, nil
}

// maxPEM is the maximum size in bytes of a file with certificates or a key. The list that a machine
// trusts has a few hundred thousand bytes.
const maxPEM = 4 << 20

// ReadPEM reads a file with certificates or a key.
func ReadPEM(path string) ([]byte, error) { return disk.ReadFile(path, maxPEM) }
