package servetest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// Authority signs certificates.
type Authority struct {
	File string // its own certificate, in PEM
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority makes an authority, and writes its certificate to NAME.pem in a folder.
func NewAuthority(t *testing.T, dir, name string) *Authority {
	t.Helper()
	a := &Authority{key: must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)}
	a.cert = &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true,
		NotAfter: time.Now().Add(24 * time.Hour), BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der := must.Get(x509.CreateCertificate(rand.Reader, a.cert, a.cert, a.key.Public(), a.key))(t)
	a.File = filepath.Join(dir, name+".pem")
	write(t, a.File, "CERTIFICATE", der)
	return a
}

// Sign makes a certificate, NAME.pem, and its key, NAME.key. It is that of hosts; without any, of this machine.
func (a *Authority) Sign(t *testing.T, dir, name string, hosts ...string) (cert, key string) {
	t.Helper()
	k := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	c := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name},
		NotAfter: time.Now().Add(24 * time.Hour), DNSNames: hosts,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	if len(hosts) == 0 {
		c.DNSNames, c.IPAddresses = []string{"localhost"}, []net.IP{{127, 0, 0, 1}}
	}
	der := must.Get(x509.CreateCertificate(rand.Reader, c, a.cert, k.Public(), a.key))(t)
	cert, key = filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key")
	write(t, cert, "CERTIFICATE", der)
	write(t, key, "PRIVATE KEY", must.Get(x509.MarshalPKCS8PrivateKey(k))(t))
	return cert, key
}

func write(t *testing.T, file, kind string, der []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}

// Client trusts the authority, and has a certificate if it is named.
func (a *Authority) Client(t *testing.T, cert, key string) *tls.Config {
	t.Helper()
	c := &tls.Config{RootCAs: x509.NewCertPool()}
	c.RootCAs.AppendCertsFromPEM(must.Get(os.ReadFile(a.File))(t))
	if cert != "" {
		c.Certificates = []tls.Certificate{must.Get(tls.LoadX509KeyPair(cert, key))(t)}
	}
	return c
}
