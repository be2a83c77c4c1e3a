package inference

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/status"

	"tvmgo/internal/testing/must"
	"tvmgo/serve/oip"
)

func TestCompression(t *testing.T) {
	const limit = 1 << 20
	client := NewGRPCInferenceServiceClient(start(t, &fake{}, oip.Limits{}, grpc.MaxRecvMsgSize(limit)))
	request := func(size int) *ModelInferRequest {
		return &ModelInferRequest{ModelName: "echo", Inputs: []*ModelInferRequest_InferInputTensor{{Name: "x",
			Datatype: "UINT8", Shape: []int64{int64(size)}}}, RawInputContents: [][]byte{bytes.Repeat([]byte{3}, size)}}
	}
	for _, name := range []string{"gzip", "deflate"} {
		for size := range 3 { // the second time, with what is in the pools
			r := must.Get(client.ModelInfer(t.Context(), request(1000*size), grpc.UseCompressor(name)))(t)
			require.Equal(t, request(1000*size).RawInputContents, r.RawOutputContents)
		}
		_, err := client.ModelInfer(t.Context(), request(limit), grpc.UseCompressor(name))
		require.Equal(t, codes.ResourceExhausted, status.Code(err), "the limit is that of the whole message: %v", err)
	}
}

func TestDeflate_Malformed(t *testing.T) {
	d := encoding.GetCompressor("deflate")
	var b bytes.Buffer
	w := must.Get(d.Compress(&b))(t)
	must.Get(w.Write([]byte("text")))(t)
	require.NoError(t, w.Close())
	good := b.Bytes()
	for range 2 {
		r := must.Get(d.Decompress(bytes.NewReader(good)))(t)
		require.Equal(t, "text", string(must.Get(io.ReadAll(r))(t)))
		require.NoError(t, r.(io.Closer).Close())
		require.Error(t, must.Fail(d.Decompress(bytes.NewReader([]byte("text")))))
	}
}
