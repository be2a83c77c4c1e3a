// Command deploy_go serves a compiled module over HTTP: POST /predict with {"a":[1,2],"b":[3,4]} returns {"c":[4,6]}.
//
//	go run ./examples/deploy_go -module add.so -function add -addr 127.0.0.1:8080
//
// One module is loaded at the start and shared by all requests; each request has its own tensors. SIGINT and
// SIGTERM end the service after the current requests. -selftest sends one request to the service and exits.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"tvmgo/dlpack"
	"tvmgo/runtime"
	_ "tvmgo/runtime/all" // all devices that the build tags include
)

type config struct {
	module, function, addr string
	device                 string
	grace                  time.Duration // for requests in progress when the service ends
	selftest               bool
}

func main() {
	var c config
	flag.StringVar(&c.module, "module", "", "module file, a function f(A, B, C) of which sets C from A and B")
	flag.StringVar(&c.function, "function", "add", "name of the function")
	flag.StringVar(&c.device, "device", "cpu", "where the vectors are: cpu, cuda:0, opencl:1, …")
	flag.StringVar(&c.addr, "addr", "127.0.0.1:0", "address to serve on; port 0 takes a free one")
	flag.DurationVar(&c.grace, "grace", 10*time.Second, "how long requests in progress may take when the service ends")
	flag.BoolVar(&c.selftest, "selftest", false, "send one request to the service and exit")
	flag.Parse()
	if c.module == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process immediately
	if err := run(ctx, c, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "deploy_go:", err)
		os.Exit(1)
	}
}

// run loads the module and serves until ctx ends.
func run(ctx context.Context, c config, w io.Writer) error {
	dev := runtime.CPU
	if c.device != "" {
		var err error
		if dev, err = dlpack.ParseDevice(c.device); err != nil {
			return err
		}
	}
	m, err := runtime.Load(ctx, c.module)
	if err != nil {
		return err
	}
	defer m.Close()
	f, err := m.Function(c.function)
	if err != nil {
		return fmt.Errorf("%s: %w", c.module, err)
	}
	defer f.Close()
	listener, err := net.Listen("tcp", c.addr)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           newHandler(f, dev),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       time.Minute,
	}
	url := "http://" + listener.Addr().String()
	fmt.Fprintf(w, "serving %s of %s with %v on %s\n", c.function, c.module, dev, url)

	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	if c.selftest {
		err = selftest(ctx, url, w)
	} else {
		select {
		case <-ctx.Done():
		case err = <-ended:
			return err // only a failure ends it by itself
		}
	}
	return errors.Join(err, shutdown(server, c.grace))
}

// shutdown waits for current requests, but not longer than grace.
func shutdown(server *http.Server, grace time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		server.Close()
		return fmt.Errorf("shut down: requests were cut off after %v: %w", grace, err)
	}
	return nil
}
