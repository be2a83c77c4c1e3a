package inference

import (
	"context"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"tvmgo/internal/testing/must"
	"tvmgo/serve/oip"
)

// fake is a server of models. Its functions may be nil.
type fake struct {
	infer    func(ctx context.Context, r *oip.Request) (*oip.Response, error)
	alloc    func(t *oip.Tensor) error
	metadata *oip.Metadata
	stats    []oip.Statistics
	err      error // of all methods that return one, but Infer

	mu    sync.Mutex
	owned map[*int]bool // Tensor.Owner of all tensors whose memory is in use
	calls []string      // of methods that change the state
	ready bool
}

func (f *fake) called(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, what)
}

func (f *fake) Live() bool  { return true }
func (f *fake) Ready() bool { return f.ready }
func (f *fake) ModelReady(name, version string) (bool, error) {
	return name == "echo" && version == "", f.err
}
func (f *fake) Server() oip.ServerMetadata {
	return oip.ServerMetadata{Name: "fake", Version: "1.2", Extensions: []string{"a", "b"}}
}
func (f *fake) Metadata(string, string) (*oip.Metadata, error) { return f.metadata, f.err }
func (f *fake) Index(readyOnly bool) []oip.IndexEntry {
	all := []oip.IndexEntry{{Name: "echo", Version: "1", State: "READY"},
		{Name: "bad", State: "UNAVAILABLE", Reason: "why"}}
	if readyOnly {
		return all[:1]
	}
	return all
}
func (f *fake) Load(_ context.Context, name string) error {
	f.called("load " + name)
	return f.err
}
func (f *fake) Unload(_ context.Context, name string) error {
	f.called("unload " + name)
	return f.err
}
func (f *fake) Statistics(string, string) ([]oip.Statistics, error) { return f.stats, f.err }

func (f *fake) Alloc(t *oip.Tensor) error {
	if f.alloc != nil {
		if err := f.alloc(t); err != nil {
			return err
		}
	}
	_, bytes, err := t.Measure(oip.Limits{})
	if err != nil {
		return err
	}
	f.own(t, make([]byte, bytes))
	return nil
}

func (f *fake) own(t *oip.Tensor, data []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.owned == nil {
		f.owned = map[*int]bool{}
	}
	owner := new(int)
	f.owned[owner] = true
	t.Data, t.Owner = data, owner
}

// Release overwrites the memory, so that tests notice what is sent afterwards.
func (f *fake) Release(list []oip.Tensor) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range list {
		if t.Data == nil {
			continue
		}
		if owner, ok := t.Owner.(*int); !ok || !f.owned[owner] {
			panic("memory is released twice")
		}
		delete(f.owned, t.Owner.(*int))
		for i := range t.Data {
			t.Data[i] = 0xAA
		}
	}
}

func (f *fake) Infer(ctx context.Context, r *oip.Request) (*oip.Response, error) {
	if f.infer != nil {
		return f.infer(ctx, r)
	}
	return f.echo(r)
}

// echo returns the inputs, or those of them that the outputs name.
func (f *fake) echo(r *oip.Request) (*oip.Response, error) {
	response := &oip.Response{Model: r.Model, Version: "7", ID: r.ID}
	add := func(t oip.Tensor) {
		f.own(&t, slices.Clone(t.Data))
		response.Outputs = append(response.Outputs, t)
	}
	for _, t := range r.Inputs {
		if r.Outputs == nil {
			add(t)
		}
	}
	for _, o := range r.Outputs {
		for _, t := range r.Inputs {
			if t.Name == o.Name {
				add(t)
			}
		}
	}
	return response, nil
}

// start serves a fake, and returns a client of it. At the end of the test, nothing may be left.
func start(t testing.TB, f *fake, limits oip.Limits, options ...grpc.ServerOption) *grpc.ClientConn {
	s := grpc.NewServer(options...)
	Register(s, f, limits)
	return serve(t, f, s)
}

func serve(t testing.TB, f *fake, s *grpc.Server) *grpc.ClientConn {
	listener := bufconn.Listen(1 << 20)
	done := make(chan error, 1)
	go func() { done <- s.Serve(listener) }()
	dial := func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }
	conn := must.Get(grpc.NewClient("passthrough:///test", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(dial)))(t)
	t.Cleanup(func() {
		require.NoError(t, conn.Close())
		s.GracefulStop()
		require.NoError(t, <-done)
		require.Empty(t, f.owned, "memory of tensors")
	})
	return conn
}

// testRequest has one input x of one FP32.
func testRequest(id string) *ModelInferRequest {
	return &ModelInferRequest{ModelName: "echo", Id: id, Inputs: []*ModelInferRequest_InferInputTensor{{Name: "x",
		Datatype: "FP32", Shape: []int64{1}, Contents: &InferTensorContents{Fp32Contents: []float32{1.5}}}}}
}

// holding returns a backend that says which request it has begun, and answers when it gets a value; and the number of
// requests that run, of which more than most are an error.
func holding(t *testing.T, most int64) (f *fake, running *atomic.Int64, begun chan string, finish chan struct{}) {
	f, running, begun, finish = &fake{}, &atomic.Int64{}, make(chan string), make(chan struct{})
	f.infer = func(_ context.Context, r *oip.Request) (*oip.Response, error) {
		defer running.Add(-1)
		if n := running.Add(1); n > most {
			t.Errorf("%d requests run", n)
		}
		begun <- r.ID
		<-finish
		return f.echo(r)
	}
	return f, running, begun, finish
}
