package inference

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/serve/oip"
)

// A stream holds tensors of about Limits.BodyBytes: more requests wait, in the client, until others are answered. None
// is an error. A single one that is larger runs alone.
func TestStream_BoundedBytes(t *testing.T) {
	const elements, limit, most = 100, 1000, 3 // 400 bytes: after the third, there are 1200
	f, running, begun, finish := holding(t, most)
	client := NewGRPCInferenceServiceClient(start(t, f, oip.Limits{BodyBytes: limit}))
	s := must.Get(client.ModelStreamInfer(t.Context()))(t)
	send := func(id string, elements int) {
		m := testRequest(id)
		m.Inputs[0].Shape[0] = int64(elements)
		m.Inputs[0].Contents.Fp32Contents = make([]float32, elements)
		require.NoError(t, s.Send(m))
	}
	const extra = 20
	for i := range most + extra {
		send(strconv.Itoa(i), elements)
	}
	for range most {
		<-begun
	}
	seen := map[string]bool{}
	answered := func() {
		m := must.Get(s.Recv())(t)
		require.Empty(t, m.ErrorMessage)
		seen[m.InferResponse.Id] = true
	}
	for range extra { // one ends, one begins
		finish <- struct{}{}
		answered()
		<-begun
	}
	for range most {
		finish <- struct{}{}
		answered()
	}
	require.Len(t, seen, most+extra)
	for i := range 2 {
		send("large"+strconv.Itoa(i), limit)
	}
	for range 2 {
		<-begun
		require.EqualValues(t, 1, running.Load())
		finish <- struct{}{}
		answered()
	}
	end(t, s)
}
