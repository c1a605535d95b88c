package mock

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"
)

// makeCertificate makes an authority that lives for a day and a certificate
// for localhost, loopback and the host of addr; the authority's certificate is
// written to a temporary file, its key is thrown away.
func makeCertificate(addr string) (tls.Certificate, string, error) {
	var cert tls.Certificate
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return cert, "", fmt.Errorf("the mock's certificate: %w", err)
	}
	ca := template(1, "weir mock authority")
	ca.IsCA, ca.BasicConstraintsValid, ca.KeyUsage = true, true, x509.KeyUsageCertSign
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	if err != nil {
		return cert, "", fmt.Errorf("the mock's certificate: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return cert, "", fmt.Errorf("the mock's certificate: %w", err)
	}
	leaf := template(2, "weir mock")
	leaf.KeyUsage, leaf.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	leaf.DNSNames, leaf.IPAddresses = certNames(addr)
	der, err := x509.CreateCertificate(rand.Reader, leaf, ca, &key.PublicKey, caKey)
	if err != nil {
		return cert, "", fmt.Errorf("the mock's certificate: %w", err)
	}
	file, err := writeCA(caDER)
	return tls.Certificate{Certificate: [][]byte{der, caDER}, PrivateKey: key}, file, err
}

func template(serial int64, name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour)}
}

func certNames(addr string) ([]string, []net.IP) {
	names, ips := []string{"localhost"}, []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	host, _, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); ip != nil {
		ips = append(ips, ip)
	} else if err == nil && host != "" && host != "localhost" {
		names = append(names, host)
	}
	if own, err := os.Hostname(); err == nil {
		names = append(names, own)
	}
	return names, ips
}

func writeCA(der []byte) (string, error) {
	f, err := os.CreateTemp("", "weir-mock-ca-*.pem")
	if err != nil {
		return "", fmt.Errorf("the mock's CA file: %w", err)
	}
	err = pem.Encode(f, &pem.Block{Type: "CERTIFICATE", Bytes: der})
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return "", fmt.Errorf("the mock's CA file: %w", err)
	}
	return f.Name(), nil
}
