package inference

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"tvmgo/internal/testing/must"
	"tvmgo/serve/oip"
)

// pooled is a server whose memory is that of the request before.
type pooled struct {
	fake
	memory []byte
}

func (p *pooled) Alloc(t *oip.Tensor) error {
	t.Data = p.memory
	return nil
}

func (p *pooled) Release([]oip.Tensor) {}

// Infer returns the inputs, without a copy.
func (p *pooled) Infer(_ context.Context, r *oip.Request) (*oip.Response, error) {
	return &oip.Response{Model: r.Model, Outputs: r.Inputs}, nil
}

// floats is a request with an input of n FP32, raw or in a list.
func floats(n int, inList bool) *ModelInferRequest {
	m := testRequest("")
	m.Inputs[0].Shape[0] = int64(n)
	if inList {
		m.Inputs[0].Contents.Fp32Contents = make([]float32, n)
	} else {
		m.Inputs[0].Contents, m.RawInputContents = nil, [][]byte{make([]byte, 4*n)}
	}
	return m
}

// BenchmarkModelInfer is a whole call, with the client: an echo of the input.
func BenchmarkModelInfer(b *testing.B) {
	for _, n := range []int{1, 3 * 224 * 224} {
		m := floats(n, false)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := grpc.NewServer()
			Register(s, &pooled{memory: make([]byte, 4*n)}, oip.Limits{})
			client := NewGRPCInferenceServiceClient(serve(b, &fake{}, s))
			b.ReportAllocs()
			b.SetBytes(int64(8 * n))
			for b.Loop() {
				must.Get(client.ModelInfer(b.Context(), m))(b)
			}
		})
	}
}

// BenchmarkRequest reads a message: to tensors, and as the generated code does.
func BenchmarkRequest(b *testing.B) {
	const n = 3 * 224 * 224
	for _, form := range []string{"raw", "list"} {
		message := must.Get(proto.Marshal(floats(n, form == "list")))(b)
		b.Run(form, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(4 * n)
			f := &pooled{memory: make([]byte, 4*n)}
			for b.Loop() {
				r := &request{backend: f, limits: oip.Limits{}.WithDefaults()}
				require.NoError(b, proto.Unmarshal(message, r))
				r.release()
			}
		})
		b.Run(form+"/generated", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(4 * n)
			for b.Loop() {
				require.NoError(b, proto.Unmarshal(message, &ModelInferRequest{}))
			}
		})
	}
}
