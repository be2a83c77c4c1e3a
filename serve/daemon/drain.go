package daemon

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

// connections are those of HTTP/1. When the server stops, each request is answered of which a byte has arrived at an
// accepted connection. http.Server.Shutdown would drop those whose header it reads meanwhile; it still ends connections
// of HTTP/2, which tells clients what was not accepted.
type connections struct {
	mu      sync.Mutex
	open    map[*connection]bool
	changed chan struct{} // has a value after a change
}

func newConnections() *connections {
	return &connections{open: map[*connection]bool{}, changed: make(chan struct{}, 1)}
}

// connection is one of connections. Its fields are guarded by connections.mu.
type connection struct {
	net.Conn
	of       *connections
	accepted time.Time // zero after the first response
	begun    time.Time // when bytes were last read since it was accepted, or since a response was written; zero: none were
	active   bool      // has a request that the HTTP server knows
	closed   bool
}

// listener has connections whose requests are noticed.
type listener struct {
	net.Listener
	connections *connections
}

// Accept returns a *connection.
func (l *listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: conn, of: l.connections, accepted: time.Now()}
	c.of.mu.Lock()
	c.of.open[c] = true
	c.of.mu.Unlock()
	return c, nil
}

var http2Preface = []byte("PRI ")

// Read notices the begin of a request. After drain has closed the connection, it returns none.
func (c *connection) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if c.closed {
		return 0, net.ErrClosed
	}
	if n > 0 {
		if !c.accepted.IsZero() && c.begun.IsZero() && bytes.HasPrefix(p[:n], http2Preface) {
			c.leave()
		}
		c.begun = time.Now()
	}
	return n, err
}

// Write notices a response. What is read after it begins the next request: the HTTP server reads on before it calls the
// connection idle.
func (c *connection) Write(p []byte) (int, error) {
	c.of.mu.Lock()
	c.accepted, c.begun = time.Time{}, time.Time{}
	c.of.mu.Unlock()
	return c.Conn.Write(p)
}

// Close is called by the HTTP server.
func (c *connection) Close() error {
	c.of.mu.Lock()
	c.leave()
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// leave removes the connection from those that drain waits for.
func (c *connection) leave() {
	delete(c.of.open, c)
	select {
	case c.of.changed <- struct{}{}:
	default:
	}
}

// state is http.Server.ConnState.
func (s *connections) state(conn net.Conn, now http.ConnState) {
	encrypted, ok := conn.(*tls.Conn)
	if ok {
		conn = encrypted.NetConn()
	}
	c, known := conn.(*connection)
	if !known {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if ok && encrypted.ConnectionState().NegotiatedProtocol == "h2" {
		c.leave()
	}
	if c.active = now == http.StateActive; !c.active {
		select {
		case s.changed <- struct{}{}:
		default:
		}
	}
}

// newTime is how long a new connection may be open before its first request begins.
const newTime = time.Second

// unused reports whether the connection may be closed: it has no request, or no complete header in its time.
func (c *connection) unused(header time.Duration) bool {
	switch {
	case c.active:
		return false
	case c.begun.IsZero():
		return time.Since(c.accepted) > newTime && !c.hasBytes()
	}
	return time.Since(c.begun) > header
}

// drain closes connections without a request, until there are no others, or ctx ends. The listener is closed, and
// responses end their connections.
func (s *connections) drain(ctx context.Context, header time.Duration) error {
	tick := time.NewTicker(newTime / 10)
	defer tick.Stop()
	for {
		s.mu.Lock()
		for c := range s.open {
			if c.unused(header) {
				c.closed = true
				c.leave()
				c.Conn.Close()
			}
		}
		left := len(s.open)
		s.mu.Unlock()
		if left == 0 {
			return nil
		}
		select {
		case <-s.changed:
		case <-tick.C: // for new connections
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// hasBytes reports whether bytes have arrived that the server has not read.
func (c *connection) hasBytes() (has bool) {
	limited, _ := c.Conn.(*limitedConn)
	socket, ok := limited.Conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	_ = raw.Control(func(fd uintptr) {
		n, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		has = err == nil && n > 0
	})
	return has
}
