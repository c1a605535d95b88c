package gateway

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// mockCert makes a certificate for 127.0.0.1 and gives its files.
func mockCert(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: "weir test"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert = fileOf(t, "cert.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	return cert, fileOf(t, "key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs})))
}

// shown is the serial number of the certificate that a server shows.
func shown(t *testing.T, addr string) string {
	t.Helper()
	d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // it is the certificate that is looked at
	conn, err := d.DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.String()
}

func TestNewCertificateIsTakenUp(t *testing.T) {
	const secure = "tls: {cert: %q, key: %q}" + small
	cert1, key1 := mockCert(t)
	cert2, key2 := mockCert(t)
	up := scripted(t, sse(chatDone))
	g := startFront(t, secure, cert1, key1, up)
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = &tls.Config{GetCertificate: g.f.Certificate}
	server.StartTLS()
	defer server.Close()
	server.TLS.Certificates = nil // its own, which would be preferred
	addr := server.Listener.Addr().String()
	first := shown(t, addr)
	g.reload(secure, cert2, key2, up)
	if second := shown(t, addr); second == first {
		t.Error("the old certificate is shown")
	}
	for _, bad := range [][2]string{{cert1, key2}, {up, key1}, {fileOf(t, "bad.pem", "no certificate"), key1}} {
		c := configOf(t, secure, bad[0], bad[1], up)
		if err := g.f.Reload(c); err == nil || !strings.HasPrefix(err.Error(), "tls: ") {
			t.Errorf("%v: %v", bad, err)
		}
		if _, err := New(c, Options{}); err == nil {
			t.Errorf("%v: a gateway began with it", bad)
		}
	}
}
