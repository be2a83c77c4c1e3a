//go:build cgo

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tvmgo/dlpack"
	"tvmgo/runtime"
	"tvmgo/serve"
	"tvmgo/serve/daemon"
)

// serveFlags holds the flags of serve.
type serveFlags struct {
	options   serve.Options
	listen    daemon.Config
	devices   []string
	delay     time.Duration
	timeout   time.Duration
	tokenFile string
	trusted   string // file or folder of keys
	noWatch   bool
	threads   int
	logFormat string
	logLevel  slog.Level
	spans     string
	check     string // URL
	ca, named string // with check: who signs the server's certificate, and the name that it has
}

func newServeCommand() *cobra.Command {
	var flags serveFlags
	cmd := &cobra.Command{
		Use:   "serve MODEL... [--http HOST:PORT] [--grpc HOST:PORT]",
		Short: "Serve models by the Open Inference Protocol, over HTTP and gRPC",
		Long: `Serve models by the Open Inference Protocol, version 2, over HTTP and gRPC.
MODEL is [NAME=]FILE[:FUNCTION], a folder with a model for each library in it,
or NAME= and a folder with one library. A model is any library: a compiled ONNX
model, a Relax executable, a graph executor, or a packed function with a
signature. NAME is that of the file, and FUNCTION is main or the only function,
if you leave them out. This executes code of the files: name only files and
folders that you trust, or load those alone that others have signed whom you
trust (--trusted-keys).

Requests that come together run as one batch, up to --max-batch rows, if the
first dimension of the model is open. A file NAME.json beside NAME.so has
settings of one model, for example {"max_batch": 32, "batch_delay": "2ms",
"devices": ["cuda:0"], "instances": 2, "params": "w.safetensors"}.

/ is a page with the models, /metrics has counters for Prometheus. A file that
changes is loaded again, as all are after SIGHUP, with the keys, tokens and
certificates that their files then have; the old model answers until the new one
has been tried. SIGTERM and Ctrl-C stop the server once all accepted requests
have answers, or --stop-time is over; a second one stops it at once.

With --check, it serves nothing, and asks a server whether it is ready. One that
does not answer within ` + checkTime.String() + ` is not.`,
		Example: `  tvmgo serve mlp=model.so
  tvmgo serve models/ --http 0.0.0.0:8000 --grpc 0.0.0.0:8001 --max-batch 16 --batch-delay 1ms
  tvmgo serve models/ --device cuda:0 --device cuda:1 --tls-cert c.pem --tls-key k.pem --tokens tokens.txt
  tvmgo serve --check https://localhost:8000 --tls-ca ca.pem --tls-cert client.pem --tls-key client.key
  curl -d '{"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 2], "data": [0.5, 2]}]}' \
      localhost:8000/v2/models/mlp/infer`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("check") {
				return cobra.NoArgs(cmd, args)
			}
			return atLeast(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("check") {
				return flags.checkReady(cmd.Context())
			}
			if err := flags.complete(args, cmd.ErrOrStderr()); err != nil {
				return err
			}
			return flags.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	flags.define(cmd)
	return cmd
}

func (f *serveFlags) define(cmd *cobra.Command) {
	p := cmd.Flags()
	p.StringVar(&f.listen.HTTP, "http", "localhost:8000", "address for HTTP; empty: none")
	p.StringVar(&f.listen.GRPC, "grpc", "localhost:8001", "address for gRPC; empty: none")
	p.StringArrayVar(&f.devices, "device", nil, "device of the models, such as cuda:0; may be repeated: each has a copy")
	m := &f.options.Model
	p.IntVar(&m.Instances, "instances", 1, "calls of a model at a time, on each device")
	p.IntVar(&m.MaxBatch, "max-batch", 1, "the most rows of a batch; 1: no batches")
	p.IntSliceVar(&m.Preferred, "preferred-batch", nil, "rows with which a batch does not wait for more; may be repeated")
	p.DurationVar(&f.delay, "batch-delay", 0, "the longest time that a request waits for others, for example 2ms")
	p.IntVar(&m.Queue, "queue", 256, "the most requests that wait for a model; more are rejected")
	p.DurationVar(&f.timeout, "queue-timeout", 0, "the longest time that a request waits; 0: no limit")
	p.IntVar(&m.Priorities, "priorities", 1, "number of priorities of requests; 1 is the highest")
	p.IntVar(&f.threads, "threads", 0, "threads of a call on the CPU; 0: as many as the machine has")
	l := &f.options.Limits
	p.Int64Var(&l.BodyBytes, "max-body", 64<<20, "the most bytes of a request")
	p.DurationVar(&l.Time, "io-time", time.Minute, "the longest time to read a request, and to write a response")
	p.DurationVar(&l.Answer, "answer-time", 0, "the longest time from a request to its response; 0: no limit")
	p.IntVar(&f.listen.Connections, "max-connections", 4096, "the most connections of each protocol")
	p.IntVar(&f.listen.HeaderBytes, "max-header", 64<<10, "the most bytes of the header of a request")
	p.StringVar(&f.listen.TLS.Cert, "tls-cert", "", "file with the certificate of the server, in PEM")
	p.StringVar(&f.listen.TLS.Key, "tls-key", "", "file with its key")
	p.StringVar(&f.listen.TLS.ClientCA, "tls-client-ca", "", "file with certificates that sign those of clients")
	p.StringVar(&f.tokenFile, "tokens", "", "file with the accepted bearer tokens, one on a line")
	p.StringVar(&f.trusted, "trusted-keys", "", trustedKeysUsage)
	p.StringVar(&f.listen.Pprof, "pprof", "", "address for Go's profiler, on this machine only: localhost:6060")
	p.BoolVar(&f.options.Profiling, "profile", false, "let clients record traces: POST /v2/models/NAME/profile?calls=N")
	p.StringVar(&f.spans, "otlp", "", "URL of a collector for OpenTelemetry's spans: http://localhost:4318")
	p.BoolVar(&f.noWatch, "no-watch", false, "do not load files again when they change")
	p.DurationVar(&f.listen.StopDelay, "stop-delay", 0, "time between being not ready and refusing requests")
	p.DurationVar(&f.listen.StopTime, "stop-time", 30*time.Second, "the longest time to answer requests when stopping")
	p.StringVar(&f.check, "check", "", "serve nothing: succeed if the server at a URL is ready; --tls-cert and "+
		"--tls-key are the client's")
	p.StringVar(&f.ca, "tls-ca", "", "with --check: file with certificates that sign the server's")
	p.StringVar(&f.named, "tls-name", "", "with --check: name in the server's certificate, if it is not that of the URL")
	p.StringVar(&f.logFormat, "log-format", "text", "text or json")
	p.TextVar(&f.logLevel, "log-level", slog.LevelInfo, "debug, info, warn or error")
}

// complete reads the files and texts of the flags.
func (f *serveFlags) complete(args []string, stderr io.Writer) error {
	f.options.Models = args
	if f.ca != "" || f.named != "" {
		return wrong(errors.New("--tls-ca and --tls-name are for --check: clients' certificates are for --tls-client-ca"))
	}
	if f.threads < 0 {
		return wrong(fmt.Errorf("--threads %d: it cannot be negative", f.threads))
	}
	for _, text := range f.devices {
		d, err := dlpack.ParseDevice(text)
		if err != nil {
			return wrong(fmt.Errorf("--device %s: %w", text, err))
		}
		f.options.Model.Devices = append(f.options.Model.Devices, d)
	}
	f.options.Model.Delay, f.options.Model.Timeout = serve.Duration(f.delay), serve.Duration(f.timeout)
	f.options.Watch = !f.noWatch
	o := &slog.HandlerOptions{Level: f.logLevel}
	switch f.logFormat {
	case "text":
		f.options.Logger = slog.New(slog.NewTextHandler(stderr, o))
	case "json":
		f.options.Logger = slog.New(slog.NewJSONHandler(stderr, o))
	default:
		return wrong(fmt.Errorf("--log-format %s: want text or json", f.logFormat))
	}
	f.listen.Logger = f.options.Logger
	if err := f.listen.Check(); err != nil { // before models are loaded, which may take long
		return err
	}
	return f.readFiles()
}

// readFiles reads the tokens and the trusted keys. After an error the old ones stay.
func (f *serveFlags) readFiles() error {
	var load []runtime.LoadOption
	var tokens []string
	if f.trusted != "" {
		keys, err := readTrusted(f.trusted)
		if err != nil {
			return err
		}
		load = append(load, runtime.WithTrust(keys))
	}
	if f.tokenFile != "" {
		var err error
		if tokens, err = readTokens(f.tokenFile); err != nil {
			return fmt.Errorf("--tokens: %w", err)
		}
	}
	f.options.Load, f.options.Tokens = load, tokens
	return nil
}

// readTokens reads a file with a token on each line. Empty lines, and those that begin with #, are left out.
func readTokens(path string) ([]string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var tokens []string
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if t := strings.TrimSpace(lines.Text()); t != "" && t[0] != '#' {
			tokens = append(tokens, t)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(tokens) == 0 {
		return nil, fmt.Errorf("%s has no token: write one on each line", path)
	}
	return tokens, nil
}

// run serves until a signal comes.
func (f *serveFlags) run(ctx context.Context, out io.Writer) (err error) {
	if f.threads > 0 {
		if err := runtime.SetNumThreads(f.threads); err != nil {
			return err
		}
	}
	if f.spans != "" {
		spans, err := daemon.NewSpans(ctx, f.spans)
		if err != nil {
			return fmt.Errorf("--otlp: %w", err)
		}
		defer func() { err = errors.Join(err, spans.Close()) }()
		f.options.Tracer = spans
	}
	stop, stopped := context.WithCancel(ctx)
	defer stopped()
	reload := make(chan struct{}, 1)
	var serving atomic.Bool
	handle := func(sig os.Signal) bool {
		if sig == syscall.SIGHUP { // while models are loaded for the first time, it is answered afterwards
			select {
			case reload <- struct{}{}:
			default:
			}
			return true
		}
		if !serving.Load() {
			return false
		}
		first := stop.Err() == nil
		stopped()
		return first
	}
	ownSignals.Store(&handle)
	defer ownSignals.Store(nil)
	s, err := serve.New(ctx, f.options)
	if err != nil {
		return err
	}
	defer s.Close()
	d, err := daemon.Start(s, f.listen)
	if err != nil {
		return err
	}
	serving.Store(true)
	go func() {
		for {
			select {
			case <-reload:
				f.reload(stop, s, d)
			case <-stop.Done():
				return
			}
		}
	}()
	for _, on := range []struct {
		what string
		at   net.Addr
	}{{"HTTP", d.HTTP}, {"gRPC", d.GRPC}, {"pprof", d.Pprof}} {
		if on.at != nil {
			fmt.Fprintf(out, "%s on %v\n", on.what, on.at)
		}
	}
	err = d.Wait(stop)
	f.options.Logger.Info("the server stops: accepted requests are answered")
	return errors.Join(err, d.Stop())
}

// checkTime is the longest time that a probe takes.
const checkTime = 5 * time.Second

// checkReady asks another process, so that a container needs no other program for its probes.
func (f *serveFlags) checkReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	t := &f.listen.TLS
	return daemon.Check(ctx, f.check, daemon.ClientTLS{Cert: t.Cert, Key: t.Key, CA: f.ca, Name: f.named})
}

func (f *serveFlags) reload(ctx context.Context, s *serve.Server, d *daemon.Daemon) {
	if err := d.ReloadTLS(); err != nil {
		f.options.Logger.Error("the certificates were not read again", "error", err)
	}
	if err := f.readFiles(); err != nil {
		f.options.Logger.Error("the tokens and keys were not read again", "error", err)
	} else {
		s.SetTokens(f.options.Tokens)
		s.SetLoad(f.options.Load)
	}
	_ = s.Reload(ctx) // it logs
}
