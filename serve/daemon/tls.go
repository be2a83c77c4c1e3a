package daemon

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
)

// TLS names the files of certificates in PEM. Without Cert, connections are not encrypted.
type TLS struct {
	Cert, Key string // of the server
	ClientCA  string // who signs the certificates of clients; "": clients need none
}

// certificates are those in use. They are replaced as a whole.
type certificates struct {
	files TLS
	now   atomic.Pointer[tls.Config]
}

func (t TLS) open() (*certificates, error) {
	switch {
	case t == TLS{}:
		return nil, nil
	case t.Cert == "" || t.Key == "":
		return nil, errors.New("TLS needs both the certificate and the key of the server")
	}
	c := &certificates{files: t}
	return c, c.load()
}

func (c *certificates) load() error {
	cert, err := tls.LoadX509KeyPair(c.files.Cert, c.files.Key)
	if err != nil {
		return fmt.Errorf("read the certificate %s and its key %s: %w", c.files.Cert, c.files.Key, err)
	}
	t := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	if c.files.ClientCA != "" {
		t.ClientAuth = tls.RequireAndVerifyClientCert
		if t.ClientCAs, err = readAuthorities(c.files.ClientCA); err != nil {
			return fmt.Errorf("read the certificates that sign those of clients: %w", err)
		}
	}
	c.now.Store(t)
	return nil
}

// readAuthorities reads certificates of those who sign others.
func readAuthorities(path string) (*x509.CertPool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has none in PEM", path)
	}
	return pool, nil
}

// config returns a configuration whose certificates are those that are in use when a client connects.
func (c *certificates) config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"},
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			t := c.now.Load().Clone()
			t.NextProtos = []string{"h2", "http/1.1"}
			if slices.Equal(hello.SupportedProtos, []string{"h2"}) {
				t.NextProtos = []string{"h2"}
			}
			return t, nil
		}}
}

// withHTTP also offers HTTP/1.1.
func withHTTP(t *tls.Config) *tls.Config {
	t.NextProtos = []string{"h2", "http/1.1"}
	return t
}
