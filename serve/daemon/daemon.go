package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"

	"tvmgo/serve"
	"tvmgo/serve/oip/inference"
)

// Config says where and how a server listens. An empty address is not listened on.
type Config struct {
	HTTP, GRPC string // HOST:PORT; port 0: a free one
	TLS        TLS
	// Pprof is the address of Go's profiler, which must be one of this machine alone.
	Pprof string

	Connections int           // the most of each protocol at a time; 0: 4096
	HeaderBytes int           // of a request; 0: 64 KiB
	HeaderTime  time.Duration // for the header of a request; 0: 10 seconds
	IdleTime    time.Duration // of a connection without a request; 0: 2 minutes
	// StopDelay is the time between being not ready and refusing requests, in which balancers notice.
	StopDelay time.Duration
	StopTime  time.Duration // the longest time to answer what was accepted; 0: 30 seconds

	Logger *slog.Logger // nil: slog.Default()
}

// Check returns the error that Start would return for the configuration, before there is a server: that of negative
// numbers, without an address, of an address for pprof that others reach, and of certificates.
func (c Config) Check() error {
	_, err := c.check()
	return err
}

// check returns the certificates.
func (c Config) check() (certs *certificates, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("start the server: %w", err)
		}
	}()
	for what, n := range map[string]int{"connections": c.Connections, "bytes of headers": c.HeaderBytes} {
		if n < 0 {
			return nil, fmt.Errorf("the %s cannot be negative (%d)", what, n)
		}
	}
	for what, d := range map[string]time.Duration{"time for headers": c.HeaderTime, "idle time": c.IdleTime,
		"delay before it stops": c.StopDelay, "time to stop": c.StopTime} {
		if d < 0 {
			return nil, fmt.Errorf("the %s cannot be negative (%v)", what, d)
		}
	}
	if c.HTTP == "" && c.GRPC == "" {
		return nil, errors.New("there is no address: give one for HTTP or for gRPC")
	}
	if c.Pprof != "" {
		if err := local(c.Pprof); err != nil {
			return nil, fmt.Errorf("pprof: %w", err)
		}
	}
	return c.TLS.open()
}

// listen opens a port.
func listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%w: give another port, or stop the program that has it", err)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("%w: give a port that this user may open, such as one above 1023", err)
	case err != nil:
		return nil, fmt.Errorf("%w: want HOST:PORT, with an address of this machine", err)
	}
	return l, nil
}

func (c Config) withDefaults() Config {
	defaults := func(v *time.Duration, d time.Duration) {
		if *v == 0 {
			*v = d
		}
	}
	defaults(&c.HeaderTime, 10*time.Second)
	defaults(&c.IdleTime, 2*time.Minute)
	defaults(&c.StopTime, 30*time.Second)
	if c.Connections == 0 {
		c.Connections = 4096
	}
	if c.HeaderBytes == 0 {
		c.HeaderBytes = 64 << 10
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// pingTime is how long a connection of gRPC may be silent. Then the server asks whether the client is there, and closes
// the connection if there is no answer in 20 seconds: without this, one that reads nothing more would stay.
const pingTime = time.Minute

// Daemon is a server that listens.
type Daemon struct {
	HTTP, GRPC, Pprof net.Addr // nil: not listened on

	config  Config
	server  *serve.Server
	certs   *certificates
	http    *http.Server
	onHTTP  net.Listener
	conns   *connections  // of HTTP/1
	refuses chan struct{} // closed when no more of them are accepted
	grpc    *grpc.Server
	pprof   *http.Server
	health  func(ready bool) // tells clients of gRPC; nil without gRPC
	stopped chan error       // of the servers that ended by themselves
}

// Start listens. The caller calls Stop, and closes the server after that.
func Start(s *serve.Server, c Config) (_ *Daemon, err error) {
	d := &Daemon{config: c.withDefaults(), server: s, stopped: make(chan error, 3)}
	if d.certs, err = c.check(); err != nil {
		return nil, err
	}
	var listeners []net.Listener
	defer func() {
		if err != nil {
			for _, l := range listeners {
				l.Close()
			}
		}
	}()
	open := func(address string) (net.Listener, error) {
		l, err := listen(address)
		if err == nil {
			listeners = append(listeners, l)
		}
		return l, err
	}
	var onHTTP, onGRPC, onPprof net.Listener
	if c.HTTP != "" {
		if onHTTP, err = open(c.HTTP); err != nil {
			return nil, fmt.Errorf("start the server: HTTP: %w", err)
		}
	}
	if c.GRPC != "" {
		if onGRPC, err = open(c.GRPC); err != nil {
			return nil, fmt.Errorf("start the server: gRPC: %w", err)
		}
	}
	if c.Pprof != "" {
		if onPprof, err = open(c.Pprof); err != nil {
			return nil, fmt.Errorf("start the server: pprof: %w", err)
		}
	}
	d.startHTTP(onHTTP)
	d.startGRPC(onGRPC)
	d.startPprof(onPprof)
	return d, nil
}

// startHTTP serves the handler. Without TLS, it also takes HTTP/2 with prior knowledge.
func (d *Daemon) startHTTP(l net.Listener) {
	if l == nil {
		return
	}
	d.HTTP = l.Addr()
	d.conns, d.refuses = newConnections(), make(chan struct{})
	l = &listener{limited(l, d.config.Connections), d.conns}
	d.onHTTP = l
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	d.http = &http.Server{Handler: d.server.Handler(), ReadHeaderTimeout: d.config.HeaderTime,
		IdleTimeout: d.config.IdleTime, MaxHeaderBytes: d.config.HeaderBytes, Protocols: protocols, ConnState: d.conns.state,
		ErrorLog: slog.NewLogLogger(d.config.Logger.Handler(), slog.LevelDebug)}
	if d.certs != nil {
		d.http.TLSConfig = d.certs.config()
		l = tls.NewListener(l, withHTTP(d.http.TLSConfig))
	}
	go d.ended("HTTP", func() error {
		defer close(d.refuses)
		return d.http.Serve(l)
	})
}

func (d *Daemon) startGRPC(l net.Listener) {
	if l == nil {
		return
	}
	d.GRPC = l.Addr()
	options := append(d.server.GRPCOptions(), grpc.ConnectionTimeout(d.config.HeaderTime),
		grpc.MaxHeaderListSize(uint32(d.config.HeaderBytes)), grpc.MaxConcurrentStreams(1024),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: d.config.IdleTime, Time: pingTime}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}))
	if d.certs != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(d.certs.config())))
	}
	d.grpc = grpc.NewServer(options...)
	d.server.RegisterGRPC(d.grpc)
	d.health = inference.RegisterHealth(d.grpc)
	d.health(d.server.Ready())
	go d.ended("gRPC", func() error { return d.grpc.Serve(limited(l, d.config.Connections)) })
}

// startPprof serves Go's profiler.
func (d *Daemon) startPprof(l net.Listener) {
	if l == nil {
		return
	}
	d.Pprof = l.Addr()
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	d.pprof = &http.Server{Handler: mux, ReadHeaderTimeout: d.config.HeaderTime}
	go d.ended("pprof", func() error { return d.pprof.Serve(l) })
}

// local reports an address that other machines reach.
func local(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%w: want localhost:PORT", err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("%s is reached from other machines, and a profile shows the memory of the process: want "+
			"localhost:PORT", address)
	}
	return nil
}

func (d *Daemon) ended(what string, run func() error) {
	if err := run(); err != nil && !errors.Is(err, http.ErrServerClosed) {
		d.stopped <- fmt.Errorf("serve %s: %w", what, err)
	}
}

// Wait returns when ctx ends, or with the error of a listener that fails.
func (d *Daemon) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-d.stopped:
		return err
	}
}

// ReloadTLS reads the certificates again. After an error the old ones stay in use.
func (d *Daemon) ReloadTLS() error {
	if d.certs == nil {
		return nil
	}
	return d.certs.load()
}

// Stop stops in the order that loses no request: the server is not ready, so that balancers send no more, and responses
// end connections of HTTP; after StopDelay nothing new is accepted; what was accepted is answered, within StopTime. The
// error says what was not.
func (d *Daemon) Stop() error {
	d.server.NotReady()
	if d.health != nil {
		d.health(false)
	}
	time.Sleep(d.config.StopDelay)
	ctx, cancel := context.WithTimeout(context.Background(), d.config.StopTime)
	defer cancel()
	var errs []error
	d.server.EndStreams()
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		if d.grpc != nil {
			d.grpc.GracefulStop()
		}
	}()
	if d.http != nil {
		d.onHTTP.Close()
		<-d.refuses
		if err := errors.Join(d.conns.drain(ctx, d.config.HeaderTime), d.http.Shutdown(ctx)); err != nil {
			errs = append(errs, fmt.Errorf("stop: requests by HTTP were not answered in %v: %w", d.config.StopTime, err))
			d.http.Close()
		}
	}
	select {
	case <-drained:
	case <-ctx.Done():
		errs = append(errs, fmt.Errorf("stop: calls by gRPC were not answered in %v: %w", d.config.StopTime, ctx.Err()))
		d.grpc.Stop()
		<-drained
	}
	if d.pprof != nil {
		d.pprof.Close()
	}
	errs = append(errs, d.server.Shutdown(ctx))
	return errors.Join(errs...)
}
