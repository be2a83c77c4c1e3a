package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

const artifact = "../../testdata/artifacts/modern/multi_c.so"

// serve starts the handler for a function of a module.
func serve(t *testing.T, module, function string) *httptest.Server {
	t.Helper()
	machine.Need(t, module)
	m := must.Get(runtime.Load(context.Background(), module))(t)
	f := must.Get(m.Function(function))(t)
	s := httptest.NewServer(newHandler(f, runtime.CPU))
	t.Cleanup(func() {
		s.Close()
		f.Close()
		m.Close()
	})
	return s
}

func send(t *testing.T, method, url, contentType, body string) (int, string) {
	t.Helper()
	r := must.Get(http.NewRequest(method, url, strings.NewReader(body)))(t)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	answer := must.Get(http.DefaultClient.Do(r))(t)
	defer answer.Body.Close()
	text := must.Get(io.ReadAll(answer.Body))(t)
	return answer.StatusCode, strings.TrimSpace(string(text))
}

// The C kernel of the examples, and a module exported by TVM.
func modules(t *testing.T) map[string]string {
	t.Helper()
	lib := filepath.Join(t.TempDir(), "add.so")
	out, err := exec.Command("cc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-I../../include",
		"../kernel/add.c", "-o", lib).CombinedOutput()
	require.NoError(t, err, string(out))
	return map[string]string{lib: "add", artifact: "vadd"}
}

func TestPredict(t *testing.T) {
	for module, function := range modules(t) {
		t.Run(function, func(t *testing.T) {
			s := serve(t, module, function)
			status, text := send(t, "POST", s.URL+"/predict", "application/json; charset=utf-8",
				` { "a" : [ 1 , 2.5e0 ], "b" : [3,-4] } `)
			require.Equal(t, 200, status, text)
			require.Equal(t, `{"c":[4,-1.5]}`, text)
		})
	}
}

func TestHealth(t *testing.T) {
	s := serve(t, artifact, "vadd")
	status, text := send(t, "GET", s.URL+"/healthz", "", "")
	require.Equal(t, 200, status)
	require.Equal(t, `{"status":"ok"}`, text)
}

func TestBadRequests(t *testing.T) {
	s := serve(t, artifact, "vadd")
	long := "[" + strings.Repeat("0,", maxLength) + "0]"
	for _, c := range []struct {
		method, path, contentType, body string
		status                          int
		want                            string
	}{
		{"GET", "/predict", "", "", 405, "/predict takes POST, not GET"},
		{"POST", "/healthz", "", "", 405, "takes GET"},
		{"GET", "/other", "", "", 404, "there is no /other: use POST /predict"},
		{"POST", "/predict", "text/plain", "{}", 415, "send application/json"},
		{"POST", "/predict", ";", "{}", 415, "send application/json"},
		{"POST", "/predict", "", "", 400, "the body is not"},
		{"POST", "/predict", "", "{", 400, "the body is not"},
		{"POST", "/predict", "", "[]", 400, "the body is not"},
		{"POST", "/predict", "", "{}", 400, "a has 0 elements and b 0: send as many, at least one"},
		{"POST", "/predict", "", `{"a":[],"b":[]}`, 400, "at least one"},
		{"POST", "/predict", "", `{"a":[1],"b":[1,2]}`, 400, "a has 1 elements and b 2"},
		{"POST", "/predict", "", `{"a":[1],"b":[2],"d":[3]}`, 400, "unknown field"},
		{"POST", "/predict", "", `{"a":[1],"b":[2]} x`, 400, "there is more after the object"},
		{"POST", "/predict", "", `{"a":[1],"b":[2]}{}`, 400, "there is more after the object"},
		{"POST", "/predict", "", `{"a":1,"b":[2]}`, 400, "is not an array of numbers"},
		{"POST", "/predict", "", `{"a":"x","b":[2]}`, 400, "is not an array of numbers"},
		{"POST", "/predict", "", `{"a":[null],"b":[2]}`, 400, "element 0 is"},
		{"POST", "/predict", "", `{"a":[1,"2"],"b":[2,3]}`, 400, "element 1 is"},
		{"POST", "/predict", "", `{"a":[[1]],"b":[2]}`, 400, "element 0 is"},
		{"POST", "/predict", "", `{"a":[1e39],"b":[2]}`, 400, "not a number that fits a float32"},
		{"POST", "/predict", "", `{"a":[NaN],"b":[2]}`, 400, "the body is not"},
		{"POST", "/predict", "", `{"a":` + long + `,"b":[2]}`, 413, "an array of 1048577 elements: send at most 1048576"},
		{"POST", "/predict", "", `{"a":[` + strings.Repeat(" ", maxBody) + `1],"b":[2]}`, 413,
			"the body is larger than 16777216 bytes"},
		{"POST", "/predict", "", `{"a":[3e38],"b":[3e38]}`, 422, "element 0 of the result is +Inf, which JSON cannot say"},
	} {
		status, text := send(t, c.method, s.URL+c.path, c.contentType, c.body)
		require.Equal(t, c.status, status, text)
		var answer map[string]string
		require.NoError(t, json.Unmarshal([]byte(text), &answer), text)
		require.Contains(t, answer["error"], c.want)
	}
}

// A function with another signature returns an error, which the client receives.
func TestPredict_ModuleRefuses(t *testing.T) {
	s := serve(t, artifact, "matmul")
	status, text := send(t, "POST", s.URL+"/predict", "", `{"a":[1],"b":[2]}`)
	require.Equal(t, 422, status)
	require.Contains(t, text, "ndim")
}

// Many concurrent clients get their own answers, and nothing is left behind.
func TestPredict_ManyClients(t *testing.T) {
	s := serve(t, artifact, "vadd")
	before := runtime.Live()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	var group sync.WaitGroup
	for id := range 64 {
		group.Go(func() {
			for k := range 10 {
				a, b := make(vector, id+1), make(vector, id+1)
				for i := range a {
					a[i], b[i] = float32(id*1000+i), float32(k)
				}
				body, err := json.Marshal(request{a, b})
				if err != nil {
					t.Error(err)
					return
				}
				answer, err := client.Post(s.URL+"/predict", "application/json", bytes.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				var out response
				err = json.NewDecoder(answer.Body).Decode(&out)
				answer.Body.Close()
				if err != nil || len(out.C) != len(a) {
					t.Errorf("client %d: %v, %d elements", id, err, len(out.C))
					return
				}
				for i, v := range out.C {
					if v != a[i]+b[i] {
						t.Errorf("client %d: element %d is %v, not %v", id, i, v, a[i]+b[i])
						return
					}
				}
			}
		})
	}
	group.Wait()
	after := runtime.Live()
	require.Equal(t, before.Tensors, after.Tensors)
	require.Equal(t, before.TensorBytes, after.TensorBytes)
}

func TestRun_Selftest(t *testing.T) {
	machine.Need(t, artifact)
	var out bytes.Buffer
	c := config{module: artifact, function: "vadd", addr: "127.0.0.1:0", device: "cpu", grace: 2 * time.Minute,
		selftest: true}
	require.NoError(t, run(context.Background(), c, &out))
	require.Contains(t, out.String(), "one request added 1000 elements, and all are right")

	c.function = "addone" // takes two arguments
	require.ErrorContains(t, run(context.Background(), c, io.Discard), "self-test: 422")
}

func TestRun_CannotStart(t *testing.T) {
	machine.Need(t, artifact)
	wrong := config{module: artifact, function: "vadd", device: "gpuu", addr: "127.0.0.1:0"}
	require.ErrorContains(t, run(t.Context(), wrong, io.Discard), "gpuu")
	c := config{module: "none.so", function: "add", addr: "127.0.0.1:0"}
	require.ErrorContains(t, run(context.Background(), c, io.Discard), "no such file")
	c.module = artifact
	require.ErrorContains(t, run(context.Background(), c, io.Discard), `has no function "add"`)
	c.function, c.addr = "vadd", "127.0.0.1:x"
	require.Error(t, run(context.Background(), c, io.Discard))
}

// SIGTERM ends the process with status 0, after the current request.
func TestSignal_Graceful(t *testing.T) {
	machine.Need(t, artifact)
	path := filepath.Join(t.TempDir(), "deploy_go")
	text, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput()
	require.NoError(t, err, string(text))
	cmd := exec.Command(path, "-module", artifact, "-function", "vadd", "-grace", "10m")
	stdout := must.Get(cmd.StdoutPipe())(t)
	require.NoError(t, cmd.Start())
	var url string
	must.Get(fmt.Fscanf(stdout, "serving vadd of "+artifact+" with cpu:0 on %s\n", &url))(t)

	// A request whose body arrives only after the signal: the service answers "100 Continue" when its handler reads, so
	// the request has begun by then.
	body, feed := io.Pipe()
	begun := make(chan struct{})
	trace := &httptrace.ClientTrace{Got100Continue: func() { close(begun) }}
	r := must.Get(http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), http.MethodPost,
		url+"/predict", body))(t)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Expect", "100-continue")
	client := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: 2 * time.Minute}}
	answered := make(chan string, 1)
	go func() {
		answer, err := client.Do(r)
		if err != nil {
			answered <- err.Error()
			return
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		answered <- strings.TrimSpace(string(text))
	}()
	select {
	case <-begun:
	case text := <-answered:
		require.Fail(t, "answered before its body was sent", text)
	}
	must.Get(io.WriteString(feed, `{"a":[1],`))(t)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.Eventually(t, func() bool { // it accepts no new requests
		_, err := http.Get(url + "/healthz")
		return err != nil
	}, 2*time.Minute, 10*time.Millisecond)
	must.Get(io.WriteString(feed, `"b":[2]}`))(t)
	require.NoError(t, feed.Close())
	require.Equal(t, `{"c":[3]}`, <-answered)
	require.NoError(t, cmd.Wait())
}
