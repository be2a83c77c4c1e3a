package daemon

import (
	"net"
	"sync"
)

// limited accepts so many connections at a time. Others wait in the queue of the system.
func limited(l net.Listener, n int) net.Listener {
	return &limitedListener{Listener: l, free: make(chan struct{}, n), closed: make(chan struct{})}
}

type limitedListener struct {
	net.Listener
	free   chan struct{} // has a value for each connection
	once   sync.Once
	closed chan struct{}
}

// Accept waits until a connection may be opened.
func (l *limitedListener) Accept() (net.Conn, error) {
	select {
	case l.free <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.free
		return nil, err
	}
	return &limitedConn{Conn: c, of: l}, nil
}

// Close ends Accept.
func (l *limitedListener) Close() error {
	err := l.Listener.Close()
	l.once.Do(func() { close(l.closed) })
	return err
}

type limitedConn struct {
	net.Conn
	once sync.Once
	of   *limitedListener
}

// Close makes room for another connection.
func (c *limitedConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { <-c.of.free })
	return err
}
