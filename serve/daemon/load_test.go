package daemon_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/servetest"
	"tvmgo/internal/testing/testseed"
	tvm "tvmgo/runtime"
	"tvmgo/serve"
	"tvmgo/serve/daemon"
	"tvmgo/serve/oip/inference"
)

// load are clients that ask several models at once. The result of each request depends on a number that no other
// request at that time has.
type load struct {
	http string
	grpc inference.GRPCInferenceServiceClient
	pool *http.Client

	next, right, refused, gone atomic.Int64
}

// models are y = factor * x + offset. Some have batches.
var models = map[string][2]int{"one": {3, 1}, "two": {5, 2}, "three": {7, 3}}

func (l *load) ask(r *rand.Rand) error {
	names := []string{"one", "two", "three"}
	name := names[r.IntN(len(names))]
	x := l.next.Add(1) % (1 << 20) // three times that is exact in float32
	rows := int64(1 + r.IntN(3))
	want := float32(models[name][0]*int(x) + models[name][1])
	ctx := context.Background()
	if r.IntN(20) == 0 { // a client that vanishes
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
	var got []float32
	var err error
	switch r.IntN(3) {
	case 0:
		got, err = l.askJSON(ctx, name, x, rows)
	case 1:
		got, err = l.askRaw(ctx, name, x, rows)
	default:
		got, err = l.askGRPC(ctx, name, x, rows)
	}
	switch {
	case ctx.Err() != nil:
		l.gone.Add(1)
		return nil
	case err != nil && (strings.Contains(err.Error(), "429") || strings.Contains(err.Error(), "ResourceExhausted")):
		l.refused.Add(1)
		return nil
	case err != nil:
		return fmt.Errorf("model %s, number %d: %w", name, x, err)
	case len(got) != int(rows)*4:
		return fmt.Errorf("model %s, number %d: %d results for %d rows", name, x, len(got), rows)
	}
	for _, y := range got {
		if y != want {
			return fmt.Errorf("model %s, number %d: result %v, want %v", name, x, y, want)
		}
	}
	l.right.Add(1)
	return nil
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

func (l *load) askJSON(ctx context.Context, name string, x, rows int64) ([]float32, error) {
	data := strings.TrimSuffix(strings.Repeat(strconv.FormatInt(x, 10)+",", int(rows)*4), ",")
	text, _, err := l.post(ctx, name, fmt.Appendf(nil,
		`{"inputs":[{"name":"x","datatype":"FP32","shape":[%d,4],"data":[%s]}]}`, rows, data), 0)
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

func (l *load) askRaw(ctx context.Context, name string, x, rows int64) ([]float32, error) {
	head := fmt.Appendf(nil, `{"inputs":[{"name":"x","datatype":"FP32","shape":[%d,4],"parameters":`+
		`{"binary_data_size":%d}}],"parameters":{"binary_data_output":true}}`, rows, rows*16)
	text, header, err := l.post(ctx, name, append(head, raw(x, rows*4)...), len(head))
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(header.Get("Inference-Header-Content-Length"))
	if err != nil || n > len(text) {
		return nil, fmt.Errorf("header of %d bytes of %d: %v", n, len(text), err)
	}
	return numbers(text[n:]), nil
}

func (l *load) askGRPC(ctx context.Context, name string, x, rows int64) ([]float32, error) {
	answer, err := l.grpc.ModelInfer(ctx, &inference.ModelInferRequest{ModelName: name,
		Inputs: []*inference.ModelInferRequest_InferInputTensor{{Name: "x", Datatype: "FP32",
			Shape: []int64{rows, 4}}}, RawInputContents: [][]byte{raw(x, rows*4)}})
	if err != nil {
		return nil, err
	}
	return numbers(answer.RawOutputContents[0]), nil
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

// TestLoad has 64 connections, models that are loaded again meanwhile, clients that vanish, and bodies that are cut
// off. No answer is lost, comes twice or belongs to another request, and nothing is left behind.
func TestLoad(t *testing.T) {
	requests, clients := 4000, 64
	if os.Getenv("TVMGO_TEST_ALL") != "" {
		requests = 100_000
	}
	dir := t.TempDir()
	for name, f := range models {
		servetest.Affine(t, filepath.Join(dir, name+".so"), f[0], f[1])
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "two.json"),
		[]byte(`{"max_batch": 16, "batch_delay": "1ms", "preferred_batches": [8], "instances": 2}`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "three.json"), []byte(`{"max_batch": 8, "queue": 16}`), 0o600))
	before := tvm.Live()
	s := must.Get(serve.New(t.Context(), serve.Options{Models: []string{dir}, Logger: quiet}))(t)
	d := must.Get(daemon.Start(s, daemon.Config{HTTP: "localhost:0", GRPC: "localhost:0", Logger: quiet}))(t)
	channel := must.Get(grpc.NewClient(d.GRPC.String(), grpc.WithTransportCredentials(insecure.NewCredentials())))(t)
	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	l := &load{http: d.HTTP.String(), grpc: inference.NewGRPCInferenceServiceClient(channel),
		pool: &http.Client{Transport: transport}}

	var running sync.WaitGroup
	var left atomic.Int64
	left.Store(int64(requests))
	failed := make(chan error, clients+2)
	ended := make(chan struct{})
	for c := range clients {
		r := rand.New(rand.NewPCG(testseed.Of(t), uint64(c)))
		running.Go(func() {
			for left.Add(-1) >= 0 {
				err := l.ask(r)
				if err == nil && c == 0 {
					err = l.rude(r)
				}
				if err != nil {
					failed <- err
					return
				}
			}
		})
	}
	var reloads int
	var reloading sync.WaitGroup
	reloading.Go(func() {
		for at := int64(requests); ; {
			select {
			case <-ended:
				return
			default:
			}
			if now := left.Load(); at-now > int64(requests/20) { // every twentieth of the requests
				at = now
				reloads++
				if err := s.Reload(context.Background()); err != nil {
					failed <- err
					return
				}
			}
			runtime.Gosched()
		}
	})
	running.Wait()
	close(ended)
	reloading.Wait()
	require.NoError(t, channel.Close())
	transport.CloseIdleConnections()
	require.NoError(t, d.Stop())
	select {
	case err := <-failed:
		t.Fatal(err)
	default:
	}
	require.EqualValues(t, requests, l.right.Load()+l.refused.Load()+l.gone.Load())
	require.Greater(t, l.right.Load(), int64(requests/2))
	require.Positive(t, reloads)
	runtime.GC()
	require.Equal(t, before.Tensors, tvm.Live().Tensors)
	t.Logf("%d right, %d refused, %d vanished, %d reloads", l.right.Load(), l.refused.Load(), l.gone.Load(), reloads)
}
