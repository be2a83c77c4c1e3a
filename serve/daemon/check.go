package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// ClientTLS names files in PEM by which [Check] connects to a server with TLS. All may be "".
type ClientTLS struct {
	Cert, Key string // of the client, if the server wants one
	CA        string // who signs the certificate of the server; "": those that the system knows
	Name      string // in the certificate of the server; "": the host of the URL
}

func (c ClientTLS) config() (*tls.Config, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.Name}
	if c.Cert != "" || c.Key != "" {
		cert, err := tls.LoadX509KeyPair(c.Cert, c.Key)
		if err != nil {
			return nil, fmt.Errorf("read the certificate %q and its key %q: %w", c.Cert, c.Key, err)
		}
		t.Certificates = []tls.Certificate{cert}
	}
	if c.CA != "" {
		var err error
		if t.RootCAs, err = readAuthorities(c.CA); err != nil {
			return nil, fmt.Errorf("read the certificates that sign the server's: %w", err)
		}
	}
	return t, nil
}

// Check asks a server, whose URL has no path, whether it is ready: nil if it is, else an error that says why not. A
// server that does not answer before ctx ends is not ready.
func Check(ctx context.Context, server string, c ClientTLS) error {
	at, err := url.Parse(server)
	if err == nil && (at.Scheme != "http" && at.Scheme != "https" || at.Host == "") {
		err = errors.New("want http://HOST:PORT or https://HOST:PORT")
	}
	if err != nil {
		return fmt.Errorf("check the server at %q: %w", server, err)
	}
	t, err := c.config()
	if err != nil {
		return fmt.Errorf("check the server at %s: %w", server, err)
	}
	transport := &http.Transport{TLSClientConfig: t, DisableKeepAlives: true}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.JoinPath("v2/health/ready").String(), nil)
	if err != nil {
		return fmt.Errorf("check the server at %s: %w", server, err)
	}
	answer, err := transport.RoundTrip(request) // nothing is redirected
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("check the server at %s: it does not answer in time: %w", server, err)
	} else if err != nil {
		return fmt.Errorf("check the server at %s: %w", server, err)
	}
	defer answer.Body.Close()
	const most = 1 << 10 // of a message
	if text, _ := io.ReadAll(io.LimitReader(answer.Body, most)); answer.StatusCode != http.StatusOK {
		return fmt.Errorf("check the server at %s: it is not ready: %s: %s", server, answer.Status,
			strings.TrimSpace(string(text)))
	}
	return nil
}
