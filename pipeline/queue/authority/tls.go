package authority

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
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
	if err := c.putPEM(caKey, keyPEM(caPair)); err != nil {
		return err
	}
	if err := c.putPEM(caFile, certPEM(ca.Raw)); err != nil {
		return err
	}
	for _, host := range c.Hosts {
		cert, pair, err := newCertificate(host, ca, caPair)
		if err != nil {
			return err
		}
		files := map[string][]byte{certFile: certPEM(cert.Raw), keyFile: keyPEM(pair), caFile: certPEM(ca.Raw)}
		for name, text := range files {
			if err := disk.WriteSecret(filepath.Join(c.ServerDir(host), name), disk.Bytes(text)); err != nil {
				return err
			}
		}
	}
	return nil
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

func certPEM(raw []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
}

func keyPEM(pair *ecdsa.PrivateKey) []byte {
	raw, err := x509.MarshalPKCS8PrivateKey(pair)
	if err != nil {
		panic(err) // the curve is supported
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
}

func (c *Cluster) putPEM(name string, text []byte) error {
	return disk.WriteSecret(c.path(name), disk.Bytes(text))
}
