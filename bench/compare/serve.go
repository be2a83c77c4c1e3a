package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tvmgo/bench/compare/serving"
	"tvmgo/graph/onnx/file"
	"tvmgo/runtime"
	_ "tvmgo/runtime/vm"
)

// The rows of tvmgo serve. A measure is "serve.WHAT".
func init() {
	table = append(table,
		row{"serve-one", "tvmgo serve, 1 client, MLP 784-512-512-10 (base: net/http that answers the same, and the model)",
			"serve.one", "serve.one-floor", 60e3, difference},
		row{"serve-batches", "64 clients, MLP 784-1024-1024-10, batches (base: none)", "serve.batches", "serve.alone", 0.5,
			ratio},
		row{"serve-batches-p99", "  99th percentile of the latency", "serve.batches-p99", "serve.alone-p99", 2, ratio},
		row{"serve-small-batches", "  MLP 784-512-512-10", "serve.small-batches", "serve.small-alone", 0, record},
		row{"serve-overload", "512 clients, queue of 64 requests, batches (base: 64 clients)", "serve.overload",
			"serve.batches", 2, ratio},
		row{"serve-large", "tensors of 1 MiB, there and back (base: a copy over loopback)", "serve.large",
			"serve.large-copy", 2, ratio})
	groups = append(groups,
		group{measures: []string{"serve.one", "serve.one-floor"}},
		group{measures: []string{"serve.batches", "serve.alone", "serve.batches-p99", "serve.alone-p99",
			"serve.small-batches", "serve.small-alone", "serve.overload"}},
		group{measures: []string{"serve.large", "serve.large-copy"}})
}

// The models that are served; each has one input x.
var servedModels = map[string]func() *file.Model{
	"small":  func() *file.Model { return mlp(open, 784, 512, 512, 10) },
	"mlp":    func() *file.Model { return mlp(open, 784, 1024, 1024, 10) },
	"affine": affine,
}

const mlpColumns = 784

// affine returns a model that takes little more time than reading and writing its elements.
func affine() *file.Model {
	w := newModelWriter("affine")
	x := w.input("x", open, 4)
	return w.model(w.node("Add", w.node("Mul", x, w.scalar(3)), w.scalar(1)), open, 4)
}

// A call of this program by one of these names is the other side of a row.
const (
	sameCommand = "answer-the-same"
	echoCommand = "send-back"
)

func serveSame(args []string) error {
	answer, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	return serving.Same(answer)
}

func sendBack(args []string) error {
	size, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	return serving.Echo(size)
}

// servePrograms measures tvmgo serve. Its processes, and the files of the models, are made on first use.
type servePrograms struct {
	models  *modelPrograms
	ready   map[string]string // the library of a model
	servers map[string]*serving.Server
	loads   map[string]serving.Load // of which the throughput or the latency was not asked yet
	alone   *runtime.Model
	row     *runtime.Tensor // its input

	oneByOne, atOnce int // requests of a sample, by one client and by all
	clients          int
}

func newServePrograms(models *modelPrograms) *servePrograms {
	return &servePrograms{models: models, ready: map[string]string{}, servers: map[string]*serving.Server{},
		loads: map[string]serving.Load{}, oneByOne: 500, atOnce: 4000, clients: 64}
}

func (s *servePrograms) ask(what string) (float64, error) {
	const rows, columns = 1 << 16, 4 // 1 MiB
	small, large := serving.Request("small", 1, mlpColumns), serving.Request("affine", rows, columns)
	switch what {
	case "one":
		return s.median("small", small)
	case "one-floor":
		return s.floor(small)
	case "large":
		return s.median("affine", large)
	case "large-copy":
		echo, err := s.self(echoCommand, strconv.Itoa(len(large)))
		if err != nil {
			return 0, err
		}
		took, err := serving.Copies(echo.Address, large, s.oneByOne)
		return float64(took), err
	}
	load, ofLatency := strings.CutSuffix(what, "-p99")
	model := "mlp"
	how, ofSmall := strings.CutPrefix(load, "small-")
	if ofSmall {
		model = "small"
	}
	l, have := s.loads[load]
	if delete(s.loads, load); !have {
		var args []string
		if how != "alone" {
			args = []string{"--max-batch", strconv.Itoa(s.clients)}
		}
		many := s.clients
		if how == "overload" {
			many, args = 8*s.clients, append(args, "--queue", strconv.Itoa(s.clients))
		}
		server, err := s.serve(model, args...)
		if err != nil {
			return 0, err
		}
		if l, err = serving.ManyClients(server.Address, serving.Request(model, 1, mlpColumns), many, s.atOnce); err != nil {
			return 0, err
		}
		s.loads[load] = l
	}
	if ofLatency {
		return float64(l.P99), nil
	}
	return float64(l.PerRequest), nil
}

func (s *servePrograms) median(model string, request []byte) (float64, error) {
	server, err := s.serve(model)
	if err != nil {
		return 0, err
	}
	took, err := serving.OneClient(server.Address, request, s.oneByOne, nil)
	return float64(took), err
}

// floor returns the time of a request for a server that answers what ours does, and of a call of the model between two
// such requests: after a pause, a call takes longer.
func (s *servePrograms) floor(request []byte) (float64, error) {
	server, err := s.serve("small")
	if err != nil {
		return 0, err
	}
	answer := filepath.Join(s.models.dir, "answer")
	if !exists(answer) {
		c, err := serving.Dial(server.Address)
		if err != nil {
			return 0, err
		}
		body, err := c.Do(request)
		if err := errors.Join(err, c.Close()); err != nil {
			return 0, err
		}
		if err := os.WriteFile(answer, body, 0o666); err != nil {
			return 0, err
		}
	}
	same, err := s.self(sameCommand, answer)
	if err != nil {
		return 0, err
	}
	call, err := s.call()
	if err != nil {
		return 0, err
	}
	var alone []float64
	took, err := serving.OneClient(same.Address, request, s.oneByOne, func() error {
		from := time.Now()
		err := call()
		alone = append(alone, float64(time.Since(from)))
		return err
	})
	return float64(took) + summarize(alone).Median, err
}

// call returns a call of the small model with one row.
func (s *servePrograms) call() (func() error, error) {
	ctx := context.Background()
	if s.alone == nil {
		path, err := s.library("small")
		if err == nil {
			s.row, err = runtime.FromSlice(make([]float32, mlpColumns), 1, mlpColumns)
		}
		if err == nil {
			s.alone, err = runtime.LoadModel(ctx, path)
		}
		if err != nil {
			return nil, err
		}
	}
	return func() error {
		out, err := s.alone.Run(ctx, runtime.Ordered{s.row})
		if err != nil {
			return err
		}
		return out.Close()
	}, nil
}

// library returns the file of a compiled model.
func (s *servePrograms) library(model string) (string, error) {
	if path := s.ready[model]; path != "" {
		return path, nil
	}
	base := filepath.Join(s.models.dir, "serve", model)
	if err := os.MkdirAll(filepath.Dir(base), 0o777); err != nil {
		return "", err
	}
	if err := os.WriteFile(base+".onnx", servedModels[model]().Encode(), 0o666); err != nil {
		return "", err
	}
	if _, err := s.models.compile(base, ""); err != nil {
		return "", err
	}
	s.ready[model] = base + ".so"
	return s.ready[model], nil
}

// serve returns the server of a model with these flags.
func (s *servePrograms) serve(model string, flags ...string) (*serving.Server, error) {
	path, err := s.library(model)
	if err != nil {
		return nil, err
	}
	return s.start(s.models.tool(), slices.Concat([]string{"serve", path, "--http", "localhost:0", "--grpc", "",
		"--log-level", "warn"}, flags)...)
}

// self returns a process of this program.
func (s *servePrograms) self(args ...string) (*serving.Server, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return s.start(program, args...)
}

func (s *servePrograms) start(program string, args ...string) (*serving.Server, error) {
	key := fmt.Sprint(program, args)
	if server := s.servers[key]; server != nil {
		return server, nil
	}
	server, err := serving.Start(command(program, args...))
	if err == nil {
		s.servers[key] = server
	}
	return server, err
}

func (s *servePrograms) close() error {
	var errs []error
	for key, server := range s.servers {
		errs = append(errs, server.Close())
		delete(s.servers, key)
	}
	if s.alone != nil {
		errs = append(errs, s.alone.Close(), s.row.Close())
		s.alone = nil
	}
	return errors.Join(errs...)
}
