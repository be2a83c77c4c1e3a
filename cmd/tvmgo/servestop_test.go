//go:build cgo

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/servetest"
	"tvmgo/serve/oip/inference"
)

// errRefused is the end of a request that a server which stops has not accepted.
var errRefused = errors.New("the server stops")

// grpcRequest asks the model affine for x.
func grpcRequest(x int) *inference.ModelInferRequest {
	in := binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(x)))
	return &inference.ModelInferRequest{ModelName: "affine", Inputs: []*inference.ModelInferRequest_InferInputTensor{
		{Name: "x", Datatype: "FP32", Shape: []int64{1, 4}}}, RawInputContents: [][]byte{append(in, make([]byte, 12)...)}}
}

func grpcResult(m *inference.ModelInferResponse, err error) (float64, error) {
	if status.Code(err) == codes.Unavailable {
		return 0, errRefused
	}
	if err != nil {
		return 0, err
	}
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(m.RawOutputContents[0]))), nil
}

// stopped is what the log of a process says at its end.
func (s *served) stopped(t *testing.T) (succeeded, failed int64) {
	t.Helper()
	for line := range bytes.Lines(must.Get(os.ReadFile(s.log))(t)) {
		var entry struct {
			Msg               string
			Succeeded, Failed int64
		}
		require.NoError(t, json.Unmarshal(line, &entry))
		if entry.Msg == "the server has stopped" {
			return entry.Succeeded, entry.Failed
		}
	}
	require.Fail(t, "the log does not say that the server has stopped")
	return 0, 0
}

// SIGTERM under load loses no request that the server has accepted: clients over HTTP, gRPC and in streams get as many
// right answers as the server has counted at its end. Their other requests were refused or not read, never answered
// with an error.
func TestServe_StopsUnderLoad(t *testing.T) {
	file := filepath.Join(t.TempDir(), "affine.so")
	servetest.Affine(t, file, 3, 1)
	for _, delay := range []string{"0", "100ms"} {
		s := startServe(t, file, "--max-batch", "8", "--stop-delay", delay)
		channel := must.Get(grpc.NewClient(s.grpc, grpc.WithTransportCredentials(insecure.NewCredentials())))(t)
		defer channel.Close()
		c := inference.NewGRPCInferenceServiceClient(channel)
		var stopping atomic.Bool
		var answered atomic.Int64
		var clients sync.WaitGroup
		client := func(ask func(x int) (float64, error)) {
			clients.Go(func() {
				for x := 0; ; x = (x + 1) % 1000 {
					y, err := ask(x)
					switch {
					case err == nil && y == float64(3*x+1):
						answered.Add(1)
					case errors.Is(err, errRefused) && stopping.Load():
						return
					default:
						t.Errorf("delay %s, request %d: %v, %v", delay, x, y, err)
						return
					}
				}
			})
		}
		for range 4 {
			client(func(x int) (float64, error) {
				code, y, err := s.infer(x)
				if err != nil {
					return 0, fmt.Errorf("%w: %w", errRefused, err)
				}
				if code != http.StatusOK {
					return 0, fmt.Errorf("status %d", code)
				}
				return y, nil
			})
			client(func(x int) (float64, error) {
				return grpcResult(c.ModelInfer(context.Background(), grpcRequest(x)))
			})
			stream := must.Get(c.ModelStreamInfer(context.Background()))(t)
			client(func(x int) (float64, error) {
				_ = stream.Send(grpcRequest(x)) // Recv has its error
				m, err := stream.Recv()
				if err == nil && m.ErrorMessage != "" {
					err = errors.New(m.ErrorMessage)
				}
				return grpcResult(m.GetInferResponse(), err)
			})
		}
		require.Eventually(t, func() bool { return answered.Load() > 300 }, time.Minute, time.Millisecond)
		stopping.Store(true)
		require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
		clients.Wait()
		require.NoError(t, s.cmd.Wait(), "%s", must.Get(os.ReadFile(s.log))(t))
		succeeded, failed := s.stopped(t)
		require.Equal(t, answered.Load(), succeeded, "delay %s", delay)
		require.Zero(t, failed, "delay %s", delay)
	}
}
