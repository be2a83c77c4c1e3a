package daemon_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"tvmgo/serve/oip/inference"
)

// linear is a model y = factor * x + offset in a load.
type linear struct {
	name           string
	factor, offset int
	vanish         bool   // some of its clients vanish
	fault          *fault // nil: its device does not fail

	right, refused, failed, gone atomic.Int64 // what became of its requests
}

// The states of a device that fails for a while. While it changes, requests may fail or succeed.
const (
	healthy = iota
	failing
	lost
	recovering
	repaired
)

// fault is a device that fails for a while.
type fault struct{ state atomic.Int64 }

// load are clients that ask several models at once. The result of each request depends on a number that no other
// request at that time has.
type load struct {
	http   string
	grpc   inference.GRPCInferenceServiceClient
	pool   *http.Client
	models []*linear

	fault  *fault // nil: no device fails
	breaks func(left *atomic.Int64, of int64, ended <-chan struct{})

	next atomic.Int64 // the number of the next request

	mu    sync.Mutex
	times map[string][]time.Duration // of right answers, by the way of asking
}

// asking is one request: a number, so many times as there are elements, for a model.
type asking struct {
	model   *linear
	x, rows int64
}

// ways are those in which clients ask.
var ways = []struct {
	name string
	ask  func(*load, context.Context, asking) ([]float32, error)
}{{"HTTP, JSON", (*load).askJSON}, {"HTTP, binary", (*load).askRaw}, {"gRPC", (*load).askGRPC},
	{"gRPC, stream", (*load).askStream}}

// ask sends one request, and counts what became of it. An error is a wrong answer.
func (l *load) ask(r *rand.Rand) error {
	m := l.models[r.IntN(len(l.models))]
	a := asking{m, l.next.Add(1) % (1 << 20), int64(1 + r.IntN(3))} // some times that number is exact in float32
	ctx := context.Background()
	if m.vanish && r.IntN(15) == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		cut := r.IntN(2000)
		go func() {
			for range cut {
				runtime.Gosched()
			}
			cancel()
		}()
		defer cancel()
	}
	var before int64
	if m.fault != nil {
		before = m.fault.state.Load()
	}
	way := ways[r.IntN(len(ways))]
	start := time.Now()
	got, err := way.ask(l, ctx, a)
	took := time.Since(start)
	after := before
	if m.fault != nil {
		after = m.fault.state.Load()
	}
	switch {
	case ctx.Err() != nil:
		m.gone.Add(1)
		return nil
	case err != nil && isRefused(err):
		m.refused.Add(1)
		return nil
	case err != nil && (before != after || before == failing || before == lost || before == recovering):
		m.failed.Add(1)
		return nil
	case err != nil:
		return fmt.Errorf("model %s, number %d, %s: %w", m.name, a.x, way.name, err)
	case before == lost && after == lost:
		return fmt.Errorf("model %s, number %d, %s: an answer of a device that is lost", m.name, a.x, way.name)
	}
	if err := a.check(got); err != nil {
		return fmt.Errorf("model %s, number %d, %s: %w", m.name, a.x, way.name, err)
	}
	m.right.Add(1)
	l.mu.Lock()
	l.times[way.name] = append(l.times[way.name], took)
	l.mu.Unlock()
	return nil
}

func isRefused(err error) bool {
	return strings.HasPrefix(err.Error(), "status 429") || status.Code(err) == codes.ResourceExhausted
}

// check compares an answer with the number of its request.
func (a asking) check(got []float32) error {
	if len(got) != int(a.rows)*4 {
		return fmt.Errorf("%d results for %d rows", len(got), a.rows)
	}
	want := float32(a.model.factor*int(a.x) + a.model.offset)
	if i := slices.IndexFunc(got, func(y float32) bool { return y != want }); i >= 0 {
		return fmt.Errorf("result %v, want %v", got[i], want)
	}
	return nil
}

// wait waits for an event of a load, or for its end.
func wait(ended <-chan struct{}, event func() bool) {
	for !event() {
		select {
		case <-ended:
			return
		default:
			runtime.Gosched()
		}
	}
}

// percentiles are those of a way of asking.
func (l *load) percentiles(way string) (n int, p50, p99 time.Duration) {
	list := l.times[way]
	slices.Sort(list)
	if n = len(list); n > 0 {
		p50, p99 = list[n/2], list[n*99/100]
	}
	return n, p50, p99
}

func (l *load) post(ctx context.Context, name string, body []byte, header int) ([]byte, http.Header, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+l.http+"/v2/models/"+name+"/infer",
		bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	if header > 0 {
		r.Header.Set("Inference-Header-Content-Length", strconv.Itoa(header))
	}
	answer, err := l.pool.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", answer.StatusCode, text)
	}
	return text, answer.Header, err
}

func (l *load) askJSON(ctx context.Context, a asking) ([]float32, error) {
	data := strings.TrimSuffix(strings.Repeat(strconv.FormatInt(a.x, 10)+",", int(a.rows)*4), ",")
	text, _, err := l.post(ctx, a.model.name, fmt.Appendf(nil,
		`{"inputs":[{"name":"x","datatype":"FP32","shape":[%d,4],"data":[%s]}]}`, a.rows, data), 0)
	if err != nil {
		return nil, err
	}
	var answer struct{ Outputs []struct{ Data []float32 } }
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, err
	}
	return answer.Outputs[0].Data, nil
}

func raw(x, n int64) []byte {
	var b []byte
	for range n {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(x)))
	}
	return b
}

func numbers(b []byte) (list []float32) {
	for ; len(b) >= 4; b = b[4:] {
		list = append(list, math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return list
}

func (l *load) askRaw(ctx context.Context, a asking) ([]float32, error) {
	head := fmt.Appendf(nil, `{"inputs":[{"name":"x","datatype":"FP32","shape":[%d,4],"parameters":`+
		`{"binary_data_size":%d}}],"parameters":{"binary_data_output":true}}`, a.rows, a.rows*16)
	text, header, err := l.post(ctx, a.model.name, append(head, raw(a.x, a.rows*4)...), len(head))
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(header.Get("Inference-Header-Content-Length"))
	if err != nil || n > len(text) {
		return nil, fmt.Errorf("header of %d bytes of %d: %v", n, len(text), err)
	}
	return numbers(text[n:]), nil
}

// message is the request of a client of gRPC.
func (a asking) message() *inference.ModelInferRequest {
	return &inference.ModelInferRequest{ModelName: a.model.name, Id: strconv.FormatInt(a.x, 10),
		Inputs: []*inference.ModelInferRequest_InferInputTensor{{Name: "x", Datatype: "FP32",
			Shape: []int64{a.rows, 4}}}, RawInputContents: [][]byte{raw(a.x, a.rows*4)}}
}

func (l *load) askGRPC(ctx context.Context, a asking) ([]float32, error) {
	answer, err := l.grpc.ModelInfer(ctx, a.message())
	if err != nil {
		return nil, err
	}
	return numbers(answer.RawOutputContents[0]), nil
}

// askStream opens a stream for one request, and checks that it has one answer.
func (l *load) askStream(ctx context.Context, a asking) ([]float32, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := l.grpc.ModelStreamInfer(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.Send(a.message()); err != nil && !errors.Is(err, io.EOF) { // after EOF, Recv has the error
		return nil, err
	}
	answer, err := s.Recv()
	if err != nil {
		return nil, err
	}
	if err := s.CloseSend(); err != nil {
		return nil, err
	}
	if more, err := s.Recv(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("a stream with one request has another answer: %v, %w", more, err)
	}
	if answer.ErrorMessage != "" {
		code := answer.InferResponse.Parameters["grpc-status"].GetInt64Param()
		return nil, status.Error(codes.Code(code), answer.ErrorMessage)
	}
	if answer.InferResponse.Id != strconv.FormatInt(a.x, 10) {
		return nil, fmt.Errorf("the answer has the id %q", answer.InferResponse.Id)
	}
	return numbers(answer.InferResponse.RawOutputContents[0]), nil
}

// rude sends bodies that are cut off, and does not read answers.
func (l *load) rude(r *rand.Rand) error {
	c, err := net.Dial("tcp", l.http)
	if err != nil {
		return err
	}
	defer c.Close()
	size := 1 + r.IntN(200)
	_, err = fmt.Fprintf(c, "POST /v2/models/one/infer HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", size,
		strings.Repeat("{", r.IntN(size)))
	return err
}
