package queue

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/shatterlab/shatter/pipeline/disk"
)

// TLS names the PEM files of an encrypted connection. The zero value takes the authorities that this
// machine trusts, where the server encrypts.
type TLS struct {
	CA        string // of the authority that has signed the server's certificate; not empty: no connection without TLS
	Cert, Key string // of this party's own certificate, where the server wants one
}

// options returns the options that read the files for each connection, so that new ones count without
// a restart.
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

// authorities reads the certificates of the authorities.
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

// maxPEM bounds a file of certificates, or with a key, in bytes: those that a machine trusts take some
// hundred thousand.
const maxPEM = 4 << 20

// ReadPEM reads a file of certificates, or with a key.
func ReadPEM(path string) ([]byte, error) { return disk.ReadFile(path, maxPEM) }
