package serve

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/servetest"
	"tvmgo/serve/oip"
)

// library is a model y = 3x + 1 of rows of four numbers, made once for all tests.
var (
	library     string
	makeLibrary sync.Once
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "serve")
	if err != nil {
		panic(err)
	}
	library = filepath.Join(dir, "affine.so")
	for name, value := range map[string]string{"TVMGO_VULKAN_DEVICE_TWICE": "1", "POCL_DEVICES": "pthread basic",
		"TVMGO_CACHE_DIR": dir} {
		if os.Getenv(name) == "" {
			os.Setenv(name, value)
		}
	}
	status := m.Run()
	os.RemoveAll(dir)
	os.Exit(status)
}

// start makes a server with the model affine, and a client of its handler.
func start(t *testing.T, change func(o *Options), before ...func(*loaded) error) (*Server, string) {
	t.Helper()
	makeLibrary.Do(func() { servetest.Affine(t, library, 3, 1) })
	o := Options{Models: []string{library}, Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&o)
	}
	if len(before) > 0 {
		o.before = before[0]
	}
	s := must.Get(New(t.Context(), o))(t)
	h := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		h.Close()
		require.NoError(t, s.Shutdown(context.Background()))
	})
	return s, h.URL
}

// body is a request with one row.
func body(x int) string {
	return fmt.Sprintf(`{"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [%d, 0, 0, 0]}]}`, x)
}

type reply struct {
	status int
	header http.Header
	text   string
}

func ask(t *testing.T, r *http.Request) reply {
	t.Helper()
	answer := must.Get(http.DefaultClient.Do(r))(t)
	defer answer.Body.Close()
	return reply{answer.StatusCode, answer.Header, string(must.Get(io.ReadAll(answer.Body))(t))}
}

func post(t *testing.T, url, text string) reply {
	t.Helper()
	return ask(t, must.Get(http.NewRequest(http.MethodPost, url, strings.NewReader(text)))(t))
}

func get(t *testing.T, url string) reply {
	t.Helper()
	return ask(t, must.Get(http.NewRequest(http.MethodGet, url, nil))(t))
}

// first is the first number of the first output.
func (r reply) first(t *testing.T) float64 {
	t.Helper()
	require.Equal(t, http.StatusOK, r.status, r.text)
	var answer struct {
		Outputs []struct{ Data []float64 }
	}
	require.NoError(t, json.Unmarshal([]byte(r.text), &answer))
	return answer.Outputs[0].Data[0]
}

const infer = "/v2/models/affine/infer"

func TestHandler_Paths(t *testing.T) {
	_, url := start(t, nil)
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/v2/health/live", "", 200, `{"live":true}`},
		{"GET", "/v2/health/ready", "", 200, `{"ready":true}`},
		{"GET", "/v2", "", 200, `"name":"tvmgo"`},
		{"GET", "/v2/models/affine", "", 200, `"inputs":[{"name":"x","datatype":"FP32","shape":[-1,4]}]`},
		{"GET", "/v2/models/affine/versions/1", "", 200, `"versions":["1"]`},
		{"GET", "/v2/models/affine/versions/2", "", 404, `model \"affine\" has no version \"2\"`},
		{"GET", "/v2/models/afine", "", 404, `there is no model \"afine\": did you mean \"affine\"?`},
		{"GET", "/v2/models/affine/ready", "", 200, `{"name":"affine","ready":true}`},
		{"GET", "/v2/models/affine/versions/1/ready", "", 200, `"ready":true`},
		{"GET", "/v2/models/nothing/ready", "", 404, "there is no model"},
		{"GET", "/v2/models/affine/stats", "", 200, `"name":"affine"`},
		{"GET", "/v2/models/stats", "", 200, `"name":"affine"`},
		{"GET", "/v2/status", "", 200, `"name":"affine","state":"READY"`},
		{"GET", "/metrics", "", 200, `tvmgo_model_ready{model="affine",version="1"} 1`},
		{"POST", infer, body(5), 200, `"data":[16,1,1,1]`},
		{"POST", "/v2/models/affine/versions/1/infer", body(5), 200, `"data":[16,1,1,1]`},
		{"POST", "/v2/models/nothing/infer", body(5), 404, "there is no model"},
		{"POST", "/v2/repository/index", "", 200, `[{"name":"affine","version":"1","state":"READY","reason":""}]`},
		{"POST", "/v2/repository/index", `{"ready": true}`, 200, `"affine"`},
		{"POST", "/v2/repository/index", `{"ready": 1`, 400, "want a JSON object"},
		{"POST", "/v2/repository/index", `{} {}`, 400, "want a JSON object"},
		{"POST", "/v2/repository/index", " \n", 200, `"affine"`},
		{"POST", "/v2/repository/index", strings.Repeat(" ", 1<<16) + "{}", 413, "the body has more than 65536 bytes"},
		{"POST", "/v2/repository/models/nothing/load", "", 404, "there is no model"},
		{"POST", "/v2/repository/models/affine/load", `{"parameters": {"config": "{}"}}`, 400, `parameter \"config\"`},
		{"POST", "/v2/models/affine/profile", "", 404, "there is no POST"},
		{"GET", infer, "", 405, "the method is POST"},
		{"POST", "/v2", "", 405, "the method is GET"},
		{"GET", "/v1/models", "", 404, "the paths of the protocol begin with /v2"},
	} {
		r := ask(t, must.Get(http.NewRequest(c.method, url+c.path, strings.NewReader(c.body)))(t))
		require.Equal(t, c.status, r.status, "%s %s: %s", c.method, c.path, r.text)
		require.Contains(t, r.text, c.want, "%s %s", c.method, c.path)
	}
}

func TestInfer_WrongRequests(t *testing.T) {
	s, url := start(t, nil)
	in := `{"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [1, 2, 3, 4]}`
	for _, c := range []struct{ body, want string }{
		{`{"inputs": []}`, `needs input \"x\"`},
		{`{"inputs": [` + in + `, ` + in + `]}`, `\"x\"`},
		{`{"inputs": [` + strings.Replace(in, `"x"`, `"z"`, 1) + `]}`, `has no input \"z\": its inputs are \"x\"`},
		{`{"inputs": [` + strings.Replace(in, `[1, 4]`, `[2, 2]`, 1) + `]}`, "x"},
		{`{"inputs": [` + strings.Replace(in, `FP32`, `INT32`, 1) + `]}`, "float32"},
		{`{"inputs": [` + in + `], "outputs": [{"name": "w"}]}`, `has no output \"w\"`},
		{`{"inputs": [` + in, "the text ends early"},
	} {
		r := post(t, url+infer, c.body)
		require.Equal(t, http.StatusBadRequest, r.status, "%s: %s", c.body, r.text)
		require.Contains(t, r.text, c.want, c.body)
	}
	require.Zero(t, must.Get(s.Statistics("affine", ""))(t)[0].Executions)
	require.Equal(t, 16.0, post(t, url+infer, body(5)).first(t))
}

// Requests that come together are one call of the model, and each gets its own rows.
func TestBatch(t *testing.T) {
	const n = 8
	s, url := start(t, func(o *Options) {
		o.Model.MaxBatch, o.Model.Preferred, o.Model.Delay = 2*n, []int{n}, Duration(time.Hour)
	})
	var all sync.WaitGroup
	for x := range n {
		all.Go(func() {
			if got := post(t, url+infer, body(x)).first(t); got != float64(3*x+1) {
				t.Errorf("%d: %v", x, got)
			}
		})
	}
	all.Wait()
	st := must.Get(s.Statistics("affine", ""))(t)[0]
	require.EqualValues(t, 1, st.Executions)
	require.EqualValues(t, n, st.Inferences)
	require.Contains(t, get(t, url+"/metrics").text, `tvmgo_inference_exec_count{model="affine",version="1"} 1`)
}

// blocked holds a model until it is released, and says when it was called.
type blocked struct{ called, free chan struct{} }

func newBlocked() *blocked { return &blocked{make(chan struct{}, 100), make(chan struct{})} }

func (b *blocked) before(*loaded) error {
	b.called <- struct{}{}
	<-b.free
	return nil
}

// Beyond the bound of the queue, requests are rejected at once; those in the queue are answered. One that was
// cancelled does not run.
func TestQueue_FullAndCancelled(t *testing.T) {
	b := newBlocked()
	s, url := start(t, func(o *Options) { o.Model.Queue = 2 }, b.before)
	var all sync.WaitGroup
	request := func(ctx context.Context, x int) {
		all.Go(func() {
			r := must.Get(http.NewRequestWithContext(ctx, http.MethodPost, url+infer, strings.NewReader(body(x))))(t)
			answer, err := http.DefaultClient.Do(r)
			if ctx.Err() == nil && (err != nil || answer.StatusCode != http.StatusOK) {
				t.Errorf("request %d: %v, %v", x, answer, err)
			}
		})
	}
	waiting := func(n int) {
		require.Eventually(t, func() bool { return s.Status().Models[0].Queue == n }, time.Minute, time.Millisecond)
	}
	request(t.Context(), 1)
	<-b.called
	ctx, cancel := context.WithCancel(t.Context())
	request(ctx, 2)
	waiting(1)
	request(t.Context(), 3)
	waiting(2)
	r := post(t, url+infer, body(4))
	require.Equal(t, http.StatusTooManyRequests, r.status, r.text)
	require.NotEmpty(t, r.header.Get("Retry-After"))
	cancel()
	waiting(1)
	close(b.free)
	all.Wait()
	require.EqualValues(t, 2, must.Get(s.Statistics("affine", ""))(t)[0].Executions)
	text := get(t, url+"/metrics").text
	require.Contains(t, text, `tvmgo_inference_request_failure{model="affine",reason="REJECTED",version="1"} 1`)
	require.Contains(t, text, `tvmgo_inference_request_failure{model="affine",reason="CANCELED",version="1"} 1`)
}

// A device that fails is an error of the requests that it has, and of no others.
func TestInfer_FailingDevice(t *testing.T) {
	fails := true
	_, url := start(t, nil, func(*loaded) error {
		if fails {
			return errors.New("the device was lost")
		}
		return nil
	})
	r := post(t, url+infer, body(1))
	require.Equal(t, http.StatusInternalServerError, r.status)
	require.Contains(t, r.text, "the device was lost")
	fails = false
	require.Equal(t, 4.0, post(t, url+infer, body(1)).first(t))
}

func TestLimits_BothSides(t *testing.T) {
	text := body(1)
	_, url := start(t, func(o *Options) { o.Limits.BodyBytes = int64(len(text)) + 10 })
	require.Equal(t, 200, post(t, url+infer, text+strings.Repeat(" ", 10)).status)
	require.Equal(t, http.StatusRequestEntityTooLarge, post(t, url+infer, text+strings.Repeat(" ", 11)).status)
	for extra, want := range map[int]int{10: 200, 11: http.StatusRequestEntityTooLarge, 1 << 20: 413} {
		var z bytes.Buffer
		w := gzip.NewWriter(&z)
		must.Get(io.WriteString(w, text+strings.Repeat(" ", extra)))(t)
		require.NoError(t, w.Close())
		r := must.Get(http.NewRequest(http.MethodPost, url+infer, &z))(t)
		r.Header.Set("Content-Encoding", "gzip")
		require.Equal(t, want, ask(t, r).status, extra)
	}
}

func TestTokens(t *testing.T) {
	s, url := start(t, func(o *Options) { o.Tokens = []string{"one", "two"} })
	for path, want := range map[string]int{"/v2/health/live": 200, "/v2/health/ready": 200, "/v2": 401, "/metrics": 401,
		"/v2/models/affine": 401, "/v2/status": 401} {
		require.Equal(t, want, get(t, url+path).status, path)
	}
	for header, want := range map[string]int{"Bearer one": 200, "bearer two": 200, "Bearer three": 401, "Bearer ": 401,
		"Basic one": 401, "one": 401} {
		r := must.Get(http.NewRequest(http.MethodGet, url+"/v2", nil))(t)
		r.Header.Set("Authorization", header)
		require.Equal(t, want, ask(t, r).status, header)
	}

	s.SetTokens([]string{"three"})
	for token, want := range map[string]int{"three": 200, "one": 401} {
		r := must.Get(http.NewRequest(http.MethodGet, url+"/v2", nil))(t)
		r.Header.Set("Authorization", "Bearer "+token)
		require.Equal(t, want, ask(t, r).status, token)
	}
}

// A file that is replaced is loaded, and no request is lost meanwhile.
func TestReload(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "affine.so")
	servetest.Affine(t, file, 3, 1)
	other := filepath.Join(t.TempDir(), "affine.so")
	servetest.Affine(t, other, 5, 2)
	_, url := start(t, func(o *Options) { o.Models, o.Watch = []string{dir}, true })
	done := make(chan struct{})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for x := 0; ; x = (x + 1) % 1000 {
				got := post(t, url+infer, body(x)).first(t)
				if got != float64(3*x+1) && got != float64(5*x+2) {
					t.Errorf("%d: %v", x, got)
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	require.NoError(t, os.Rename(other, file))
	require.Eventually(t, func() bool { return post(t, url+infer, body(1)).first(t) == 7 }, time.Minute, time.Millisecond)
	require.NoError(t, os.WriteFile(file, []byte("no library"), 0o600))
	for range 3 {
		require.NotEqual(t, 200, post(t, url+"/v2/repository/models/affine/load", "").status)
		require.Equal(t, 7.0, post(t, url+infer, body(1)).first(t)) // the old one goes on
	}
	close(done)
	all.Wait()
	require.Equal(t, 200, post(t, url+"/v2/repository/models/affine/unload", "").status)
	require.Equal(t, http.StatusServiceUnavailable, post(t, url+infer, body(1)).status)
}

// A server that stops is not ready, takes no more requests, and answers those that it has accepted.
func TestShutdown_AnswersWhatWasAccepted(t *testing.T) {
	b := newBlocked()
	s, url := start(t, nil, b.before)
	var all sync.WaitGroup
	for x := range 3 {
		all.Go(func() {
			if got := post(t, url+infer, body(x)).first(t); got != float64(3*x+1) {
				t.Errorf("%d: %v", x, got)
			}
		})
	}
	<-b.called
	require.Eventually(t, func() bool { return s.Status().Models[0].Queue == 2 }, time.Minute, time.Millisecond)
	s.NotReady()
	require.Equal(t, http.StatusServiceUnavailable, get(t, url+"/v2/health/ready").status)
	require.Equal(t, http.StatusOK, get(t, url+"/v2/health/live").status)
	stopped := make(chan error)
	go func() { stopped <- s.Shutdown(t.Context()) }()
	require.Eventually(t, func() bool { return !s.Live() }, time.Minute, time.Millisecond)
	require.Eventually(t, func() bool {
		return post(t, url+infer, body(4)).status == http.StatusServiceUnavailable
	}, time.Minute, time.Millisecond)
	close(b.free)
	all.Wait()
	require.NoError(t, <-stopped)
}

// A panic while a request is answered is its error, and the next one is answered.
func TestInfer_Panic(t *testing.T) {
	s, url := start(t, nil)
	working := s.metrics
	s.metrics = nil // a bug
	r := post(t, url+infer, strings.Replace(body(1), `"x"`, `"z"`, 1))
	require.Equal(t, http.StatusInternalServerError, r.status, r.text)
	require.Contains(t, r.text, "internal error")
	s.metrics = working
	require.Equal(t, 4.0, post(t, url+infer, body(1)).first(t))
}

// A request that is not answered in time has an error, while its model goes on.
func TestLimits_Answer(t *testing.T) {
	b := newBlocked()
	_, url := start(t, func(o *Options) { o.Limits.Answer = time.Millisecond }, b.before)
	r := post(t, url+infer, body(1))
	require.Equal(t, http.StatusGatewayTimeout, r.status, r.text)
	close(b.free)
}

// A server that has nothing to answer is closed without an error, and so is one whose models were replaced.
func TestClose_Idle(t *testing.T) {
	file := filepath.Join(t.TempDir(), "affine.so")
	servetest.Affine(t, file, 3, 1)
	for range 20 {
		s := must.Get(New(t.Context(), Options{Models: []string{file}, Logger: slog.New(slog.DiscardHandler)}))(t)
		require.NoError(t, s.Reload(t.Context()))
		require.NoError(t, s.Close())
	}
}

// The time to read a request is no limit for the work of one without a body: loading a model, or waiting for a trace.
func TestLimits_TimeIsForBodies(t *testing.T) {
	const limit = time.Second / 2
	s, url := start(t, func(o *Options) { o.Limits.Time, o.Profiling = limit, true })
	trace := make(chan error, 1)
	sent := time.Now()
	go func() {
		answer, err := http.Post(url+"/v2/models/affine/profile", "", nil)
		if err == nil && answer.StatusCode != http.StatusOK {
			err = errors.New(answer.Status)
		}
		trace <- err
	}()
	recording := func() bool { return s.all()[0].current.Load().profile.Load() != nil }
	require.Eventually(t, recording, time.Minute, time.Millisecond)
	require.Never(t, func() bool { return !recording() }, 2*limit+time.Since(sent), limit/4)
	r := &oip.Request{Model: "affine", Inputs: []oip.Tensor{{Name: "x", DType: dlpack.Float32, Shape: []int64{1, 4}}}}
	require.NoError(t, s.Alloc(&r.Inputs[0]))
	answer := must.Get(s.Infer(t.Context(), r))(t)
	s.Release(answer.Outputs)
	require.NoError(t, <-trace)
}
