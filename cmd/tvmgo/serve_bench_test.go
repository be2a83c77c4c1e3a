//go:build cgo

package main

import (
	"bufio"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/servetest"
)

// BenchmarkServe_StartAfterKill reports the time from the start of tvmgo serve to its first answer, of a network of two
// layers. The process before it, on the same port, was killed by SIGKILL while it had connections.
func BenchmarkServe_StartAfterKill(b *testing.B) {
	file := filepath.Join(b.TempDir(), "network.so")
	servetest.Network(b, file)
	program := must.Get(buildOnce())(b)
	body := `{"inputs":[{"name":"x","datatype":"FP32","shape":[1,64],"data":[0` + strings.Repeat(",1", 63) + `]}]}`
	address := "localhost:0"
	start := func() (kill func()) {
		cmd := exec.Command(program, "serve", file, "--http", address, "--grpc", "localhost:0", "--log-level", "error")
		out := must.Get(cmd.StdoutPipe())(b)
		require.NoError(b, cmd.Start())
		lines := bufio.NewScanner(out)
		require.True(b, lines.Scan())
		address = strings.TrimPrefix(lines.Text(), "HTTP on ")
		answer := must.Get(http.Post("http://"+address+"/v2/models/network/infer", "application/json",
			strings.NewReader(body)))(b)
		text := must.Get(io.ReadAll(answer.Body))(b)
		require.Equal(b, http.StatusOK, answer.StatusCode, "%s", text)
		require.NoError(b, answer.Body.Close())
		return func() {
			require.NoError(b, cmd.Process.Kill())
			_ = cmd.Wait()
		}
	}
	kill := start()
	var total time.Duration
	for b.Loop() {
		b.StopTimer()
		kill()
		b.StartTimer()
		began := time.Now()
		kill = start()
		total += time.Since(began)
	}
	kill()
	b.ReportMetric(float64(total.Microseconds())/1e3/float64(b.N), "ms/first-answer")
}
