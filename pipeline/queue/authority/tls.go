package authority

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"net"
	"path/filepath"
	"time"

	"github.com/shatterlab/shatter/pipeline/disk"
)

// validity is the validity of certificates that Create makes. It is as long as the life of a
// cluster, because credentials expire instead.
const validity = 10 * 365 * 24 * time.Hour

// makeCertificates makes an authority and the servers' certificates.
func (c *Cluster) makeCertificates() error {
	ca, caPair, err := newCertificate("", nil, nil)
	if err != nil {
		return err
	}
	err = errors.Join(writeKey(c.path(caKey), caPair), writeCertificate(c.path(caFile), ca))
	for _, host := range c.Hosts {
		if err != nil {
			return err
		}
		cert, pair, failed := newCertificate(host, ca, caPair)
		if failed != nil {
			return failed
		}
		file := func(name string) string { return filepath.Join(c.ServerDir(host), name) }
		err = errors.Join(writeKey(file(keyFile), pair), writeCertificate(file(certFile), cert),
			writeCertificate(file(caFile), ca))
	}
	return err
}

// newCertificate makes the certificate and the key of a server. It also covers localhost and the
// loopback addresses. Without a host it makes the certificate of an authority.
func newCertificate(
	host string, ca *x509.Certificate, caPair *ecdsa.PrivateKey,
) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	pair, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: cmp.Or(host, "shatter cluster")},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(validity), // the hour tolerates clock differences
	}
	if host == "" {
		template.IsCA, template.BasicConstraintsValid, template.MaxPathLenZero = true, true, true
		template.KeyUsage = x509.KeyUsageCertSign
		ca, caPair = template, pair
	} else {
		template.KeyUsage = x509.KeyUsageDigitalSignature
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} // client: routes
		template.DNSNames = []string{"localhost"}
		template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else if host != "localhost" {
			template.DNSNames = append([]string{host}, template.DNSNames...)
		}
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, ca, &pair.PublicKey, caPair)
	if err != nil {
		return nil, nil, err
	}
	cert, err := x509.ParseCertificate(raw)
	return cert, pair, err
}

func writeCertificate(path string, c *x509.Certificate) error {
	return writePEM(path, "CERTIFICATE", c.Raw)
}

func writeKey(path string, pair *ecdsa.PrivateKey) error {
	raw, err := x509.MarshalPKCS8PrivateKey(pair)
	if err != nil {
		return err
	}
	return writePEM(path, "PRIVATE KEY", raw)
}

func writePEM(path, kind string, raw []byte) error {
	return disk.WriteSecret(path, disk.Bytes(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw})))
}
