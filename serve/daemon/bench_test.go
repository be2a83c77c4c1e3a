package daemon_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/servetest"
	tvm "tvmgo/runtime"
	"tvmgo/serve"
	"tvmgo/serve/daemon"
)

// network is a model of two layers, for rows of 64 numbers.
func network(b *testing.B) string {
	b.Helper()
	file := filepath.Join(b.TempDir(), "network.so")
	matrix := func(name string, rows, columns int) string {
		text := fmt.Sprintf("  const %s: float32[%d, %d] = {", name, rows, columns)
		for i := range rows * columns {
			text += strconv.Itoa(i%5-2) + ", "
		}
		return text[:len(text)-2] + "}\n"
	}
	servetest.Library(b, file, "func main(x: float32[n, 64]) {\n"+matrix("u", 64, 128)+matrix("v", 128, 16)+
		"  h: float32[n, 128] = matmul(x, u)\n  r: float32[n, 128] = relu(h)\n  y: float32[n, 16] = matmul(r, v)\n"+
		"  return y\n}\n")
	return file
}

// rawRequest is the body of a request with raw elements, and the length of its JSON.
func rawRequest(rows, columns int) (body []byte, head int) {
	text := fmt.Sprintf(`{"inputs":[{"name":"x","datatype":"FP32","shape":[%d,%d],"parameters":{"binary_data_size":%d}}],`+
		`"parameters":{"binary_data_output":true}}`, rows, columns, rows*columns*4)
	return append([]byte(text), make([]byte, rows*columns*4)...), len(text)
}

// post sends a request and reads the answer into buffer.
func post(b *testing.B, client *http.Client, url string, body []byte, head int, buffer *bytes.Buffer) {
	r := must.Get(http.NewRequest(http.MethodPost, url, bytes.NewReader(body)))(b)
	r.Header.Set("Inference-Header-Content-Length", strconv.Itoa(head))
	answer := must.Get(client.Do(r))(b)
	defer answer.Body.Close()
	buffer.Reset()
	must.Get(buffer.ReadFrom(answer.Body))(b)
	require.Equal(b, http.StatusOK, answer.StatusCode, "%s", buffer)
}

// BenchmarkOneClient reports the time that the server adds to the model's own: the median of a request, less that of a
// server of package net/http which answers the same bytes, less that of a call of the model.
func BenchmarkOneClient(b *testing.B) {
	file := network(b)
	d := start(b, daemon.Config{HTTP: "localhost:0"}, serve.Options{Models: []string{file}})
	body, head := rawRequest(1, 64)
	url := "http://" + d.HTTP.String() + "/v2/models/network/infer"
	var got bytes.Buffer
	post(b, http.DefaultClient, url, body, head, &got)
	same := bytes.Clone(got.Bytes())
	l := must.Get(net.Listen("tcp", "localhost:0"))(b)
	plain := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = w.Write(same)
	})}
	go func() { _ = plain.Serve(l) }()
	defer plain.Close()
	model := must.Get(tvm.LoadModel(b.Context(), file))(b)
	defer model.Close()
	x := must.Get(tvm.FromSlice(make([]float32, 64), 1, 64))(b)
	defer x.Close()
	var ours, theirs, alone []time.Duration
	timed := func(list *[]time.Duration, f func()) {
		t := time.Now()
		f()
		*list = append(*list, time.Since(t))
	}
	for b.Loop() {
		timed(&ours, func() { post(b, http.DefaultClient, url, body, head, &got) })
		timed(&theirs, func() { post(b, http.DefaultClient, "http://"+l.Addr().String(), body, head, &got) })
		timed(&alone, func() {
			out := must.Get(model.Run(b.Context(), tvm.Ordered{x}))(b)
			require.NoError(b, out.Close())
		})
	}
	median := func(list []time.Duration) float64 {
		slices.Sort(list)
		return float64(list[len(list)/2]) / 1e3
	}
	b.ReportMetric(median(ours), "µs/request")
	b.ReportMetric(median(theirs), "µs/net-http")
	b.ReportMetric(median(alone), "µs/model")
	b.ReportMetric(median(ours)-median(theirs)-median(alone), "µs/added")
}

// BenchmarkManyClients has 64 clients, with and without batches.
func BenchmarkManyClients(b *testing.B) {
	const clients = 64
	file := network(b)
	for name, o := range map[string]serve.ModelOptions{"alone": {}, "batches": {MaxBatch: clients}} {
		b.Run(name, func(b *testing.B) {
			d := start(b, daemon.Config{HTTP: "localhost:0"}, serve.Options{Models: []string{file}, Model: o})
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
			defer client.CloseIdleConnections()
			body, head := rawRequest(1, 64)
			url := "http://" + d.HTTP.String() + "/v2/models/network/infer"
			var left atomic.Int64
			left.Store(int64(b.N))
			times := make([][]time.Duration, clients)
			var all sync.WaitGroup
			b.ResetTimer()
			for c := range clients {
				all.Go(func() {
					var got bytes.Buffer
					for left.Add(-1) >= 0 {
						t := time.Now()
						post(b, client, url, body, head, &got)
						times[c] = append(times[c], time.Since(t))
					}
				})
			}
			all.Wait()
			b.StopTimer()
			list := slices.Concat(times...)
			slices.Sort(list)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
			b.ReportMetric(float64(list[len(list)*99/100])/1e3, "µs/p99")
		})
	}
}

// BenchmarkLargeTensors sends and gets 1 MiB, and compares with a copy of as many bytes over loopback, both ways.
func BenchmarkLargeTensors(b *testing.B) {
	const rows, columns = 65536, 4
	file := filepath.Join(b.TempDir(), "affine.so")
	servetest.Affine(b, file, 3, 1)
	d := start(b, daemon.Config{HTTP: "localhost:0"}, serve.Options{Models: []string{file}})
	body, head := rawRequest(rows, columns)
	b.Run("server", func(b *testing.B) {
		b.SetBytes(rows * columns * 4)
		var got bytes.Buffer
		for b.Loop() {
			post(b, http.DefaultClient, "http://"+d.HTTP.String()+"/v2/models/affine/infer", body, head, &got)
		}
	})
	b.Run("loopback", func(b *testing.B) {
		l := must.Get(net.Listen("tcp", "localhost:0"))(b)
		defer l.Close()
		go func() {
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			back := make([]byte, len(body))
			for {
				if _, err := io.ReadFull(c, back); err != nil {
					return
				}
				if _, err := c.Write(back); err != nil {
					return
				}
			}
		}()
		c := must.Get(net.Dial("tcp", l.Addr().String()))(b)
		defer c.Close()
		back := make([]byte, len(body))
		b.SetBytes(rows * columns * 4)
		for b.Loop() {
			must.Get(c.Write(body))(b)
			must.Get(io.ReadFull(c, back))(b)
		}
	})
}
