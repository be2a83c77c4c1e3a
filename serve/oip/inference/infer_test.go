package inference

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/serve/oip"
)

// raw returns elements as they are in memory.
func raw(t *testing.T, elements any) []byte {
	var b bytes.Buffer
	require.NoError(t, binary.Write(&b, binary.NativeEndian, elements))
	return b.Bytes()
}

var dtypeCases = []struct {
	datatype string
	dtype    dlpack.DataType
	elements any                  // 4 of them
	contents *InferTensorContents // nil: only raw
}{
	{"BOOL", dlpack.Bool, []bool{true, false, false, true},
		&InferTensorContents{BoolContents: []bool{true, false, false, true}}},
	{"INT8", dlpack.Int8, []int8{-128, 127, -1, 0}, &InferTensorContents{IntContents: []int32{-128, 127, -1, 0}}},
	{"INT16", dlpack.Int16, []int16{-32768, 32767, -1, 0},
		&InferTensorContents{IntContents: []int32{-32768, 32767, -1, 0}}},
	{"INT32", dlpack.Int32, []int32{math.MinInt32, math.MaxInt32, -1, 0},
		&InferTensorContents{IntContents: []int32{math.MinInt32, math.MaxInt32, -1, 0}}},
	{"INT64", dlpack.Int64, []int64{math.MinInt64, math.MaxInt64, -1, 0},
		&InferTensorContents{Int64Contents: []int64{math.MinInt64, math.MaxInt64, -1, 0}}},
	{"UINT8", dlpack.UInt8, []uint8{255, 0, 1, 128}, &InferTensorContents{UintContents: []uint32{255, 0, 1, 128}}},
	{"UINT16", dlpack.UInt16, []uint16{65535, 0, 1, 300},
		&InferTensorContents{UintContents: []uint32{65535, 0, 1, 300}}},
	{"UINT32", dlpack.UInt32, []uint32{math.MaxUint32, 0, 1, 70000},
		&InferTensorContents{UintContents: []uint32{math.MaxUint32, 0, 1, 70000}}},
	{"UINT64", dlpack.UInt64, []uint64{math.MaxUint64, 0, 1, 1 << 40},
		&InferTensorContents{Uint64Contents: []uint64{math.MaxUint64, 0, 1, 1 << 40}}},
	{"FP16", dlpack.Float16, []uint16{0x3c00, 0, 0xbc00, 0x7e00}, nil},
	{"BF16", dlpack.BFloat16, []uint16{0x3f80, 0, 0xbf80, 0x7fc0}, nil},
	{"FP32", dlpack.Float32, []float32{1.5, float32(math.Inf(-1)), -0.25, math.MaxFloat32},
		&InferTensorContents{Fp32Contents: []float32{1.5, float32(math.Inf(-1)), -0.25, math.MaxFloat32}}},
	{"FP64", dlpack.Float64, []float64{1.5, math.Inf(1), -0.25, math.MaxFloat64},
		&InferTensorContents{Fp64Contents: []float64{1.5, math.Inf(1), -0.25, math.MaxFloat64}}},
}

func TestModelInfer_EveryDatatype(t *testing.T) {
	f := &fake{}
	client := NewGRPCInferenceServiceClient(start(t, f, oip.Limits{}))
	for _, test := range dtypeCases {
		t.Run(test.datatype, func(t *testing.T) {
			elements := raw(t, test.elements)
			f.infer = func(_ context.Context, r *oip.Request) (*oip.Response, error) {
				require.Equal(t, test.dtype, r.Inputs[0].DType)
				require.Equal(t, elements, r.Inputs[0].Data)
				require.Equal(t, []int64{2, 1, 2}, r.Inputs[0].Shape)
				return f.echo(r)
			}
			input := &ModelInferRequest_InferInputTensor{Name: "x", Datatype: test.datatype, Shape: []int64{2, 1, 2}}
			want := &ModelInferResponse{ModelName: "echo", ModelVersion: "7", Id: "a",
				Outputs: []*ModelInferResponse_InferOutputTensor{{Name: "x", Datatype: test.datatype,
					Shape: []int64{2, 1, 2}}}, RawOutputContents: [][]byte{elements}}
			request := &ModelInferRequest{ModelName: "echo", Id: "a",
				Inputs: []*ModelInferRequest_InferInputTensor{input}}
			ask := func() {
				got := must.Get(client.ModelInfer(t.Context(), request))(t)
				require.True(t, proto.Equal(want, got), "%v", got)
			}

			request.RawInputContents = [][]byte{elements}
			ask()
			request.RawInputContents, input.Contents = nil, test.contents
			if test.contents != nil {
				ask()
				return
			}
			_, err := client.ModelInfer(t.Context(), request)
			require.ErrorContains(t, err, `input "x": there are no elements, and those of `+test.datatype+
				` are only sent raw: use raw_input_contents`)
		})
	}
}

func TestModelInfer_OutputsAndSizes(t *testing.T) {
	client := NewGRPCInferenceServiceClient(start(t, &fake{}, oip.Limits{}, grpc.MaxRecvMsgSize(64<<20)))
	large := bytes.Repeat([]byte{1, 2, 3}, 1<<20)
	input := func(name, datatype string, shape ...int64) *ModelInferRequest_InferInputTensor {
		return &ModelInferRequest_InferInputTensor{Name: name, Datatype: datatype, Shape: shape}
	}
	request := &ModelInferRequest{ModelName: "echo", Inputs: []*ModelInferRequest_InferInputTensor{
		input("empty", "FP32", 3, 0), input("scalar", "INT8"), input("large", "UINT8", 3<<20), input("empty2", "FP64", 0)},
		RawInputContents: [][]byte{nil, {5}, large, nil}}
	names := func(r *ModelInferResponse) (all []string) {
		for _, o := range r.Outputs {
			all = append(all, o.Name)
		}
		return all
	}

	r := must.Get(client.ModelInfer(t.Context(), request))(t)
	require.Equal(t, []string{"empty", "scalar", "large", "empty2"}, names(r))
	require.Equal(t, [][]byte{{}, {5}, large, {}}, r.RawOutputContents, "also of outputs without elements")
	require.Empty(t, r.Outputs[1].Shape)

	for _, name := range []string{"large", "empty"} {
		request.Outputs = append(request.Outputs, &ModelInferRequest_InferRequestedOutputTensor{Name: name,
			Parameters: map[string]*InferParameter{"binary_data": boolParameter(false)}})
	}
	r = must.Get(client.ModelInfer(t.Context(), request, grpc.UseCompressor(gzip.Name)))(t)
	require.Equal(t, []string{"large", "empty"}, names(r))
	require.Equal(t, [][]byte{large, {}}, r.RawOutputContents)

	request.RawInputContents, request.Inputs = nil, request.Inputs[:1]
	request.Outputs = nil
	r = must.Get(client.ModelInfer(t.Context(), request))(t)
	require.Equal(t, [][]byte{{}}, r.RawOutputContents, "no contents for no elements")
	r = must.Get(client.ModelInfer(t.Context(), &ModelInferRequest{ModelName: "echo"}))(t)
	require.Empty(t, r.Outputs)
}

func TestModelInfer_Request(t *testing.T) {
	f := &fake{}
	client := NewGRPCInferenceServiceClient(start(t, f, oip.Limits{}))
	var got oip.Request
	f.infer = func(_ context.Context, r *oip.Request) (*oip.Response, error) {
		got = *r
		return &oip.Response{}, nil
	}
	request := &ModelInferRequest{ModelName: "m", ModelVersion: "v", Id: "é",
		Outputs: []*ModelInferRequest_InferRequestedOutputTensor{{Name: "o"}},
		Parameters: map[string]*InferParameter{
			"priority":           {ParameterChoice: &InferParameter_Uint64Param{Uint64Param: 3}},
			"timeout":            {ParameterChoice: &InferParameter_Int64Param{Int64Param: 1500}},
			"sequence_id":        {ParameterChoice: &InferParameter_StringParam{StringParam: ""}},
			"sequence_start":     boolParameter(false),
			"binary_data_output": boolParameter(true),
			"mine":               {ParameterChoice: &InferParameter_DoubleParam{DoubleParam: 2}},
		}}
	must.Get(client.ModelInfer(t.Context(), request))(t)
	require.Equal(t, oip.Request{Model: "m", Version: "v", ID: "é", Priority: 3, Timeout: 1500 * time.Microsecond,
		Outputs: []oip.RequestedOutput{{Name: "o", Binary: true}}}, got)

	request.Parameters = map[string]*InferParameter{
		"priority": {ParameterChoice: &InferParameter_Int64Param{Int64Param: 4}},
		"timeout":  {ParameterChoice: &InferParameter_Uint64Param{Uint64Param: math.MaxUint64}}}
	must.Get(client.ModelInfer(t.Context(), request))(t)
	require.EqualValues(t, 4, got.Priority)
	require.Equal(t, math.MaxInt64/time.Microsecond*time.Microsecond, got.Timeout)
}

func TestModelInfer_Errors(t *testing.T) {
	f := &fake{}
	client := NewGRPCInferenceServiceClient(start(t, f, oip.Limits{}))
	for _, test := range []struct {
		name       string
		err        error
		code       codes.Code
		message    string
		retryAfter string
	}{
		{"not found", oip.Errorf(oip.NotFound, "no model"), codes.NotFound, "no model", ""},
		{"full", &oip.Error{Code: oip.ResourceExhausted, Message: "full", RetryAfter: 1100 * time.Millisecond},
			codes.ResourceExhausted, "full", "2"},
		{"stopping", &oip.Error{Code: oip.Unavailable, Message: "stops", RetryAfter: time.Second}, codes.Unavailable,
			"stops", "1"},
		{"unknown", errors.New("a secret"), codes.Internal, "internal error", ""},
		{"canceled", context.Canceled, codes.Canceled, "the request was canceled", ""},
		{"late", context.DeadlineExceeded, codes.DeadlineExceeded, "the time of the request is over", ""},
		{"wrapped", within("outside", &oip.Error{Code: oip.Unavailable, Message: "no", RetryAfter: time.Minute}),
			codes.Unavailable, "outside: no", "60"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f.infer = func(context.Context, *oip.Request) (*oip.Response, error) { return nil, test.err }
			var trailer metadata.MD
			_, err := client.ModelInfer(t.Context(), testRequest(""), grpc.Trailer(&trailer))
			requireStatus(t, err, test.code, test.message, test.retryAfter, trailer)

			f.err = test.err // likewise, of calls without tensors
			trailer = nil
			_, err = client.ModelReady(t.Context(), &ModelReadyRequest{}, grpc.Trailer(&trailer))
			requireStatus(t, err, test.code, test.message, test.retryAfter, trailer)
		})
	}
}

func requireStatus(t *testing.T, err error, code codes.Code, message, retry string, trailer metadata.MD) {
	t.Helper()
	s, ok := status.FromError(err)
	require.True(t, ok)
	require.Equal(t, code, s.Code())
	require.Equal(t, message, s.Message())
	if retry == "" {
		require.Empty(t, s.Details())
		require.Empty(t, trailer.Get(retryAfter))
		return
	}
	require.Len(t, s.Details(), 1)
	require.Contains(t, s.Proto().Details[0].TypeUrl, "google.rpc.RetryInfo")
	require.Equal(t, []string{retry}, trailer.Get(retryAfter))
}

// TestModelInfer_BadBackend calls servers of models whose answers are wrong.
func TestModelInfer_BadBackend(t *testing.T) {
	f := &fake{}
	client := NewGRPCInferenceServiceClient(start(t, f, oip.Limits{}))
	for _, test := range []struct {
		message string
		output  oip.Tensor
	}{
		{`output "y": float32 of shape [2] has 8 bytes, not 4`, oip.Tensor{Name: "y", DType: dlpack.Float32,
			Shape: []int64{2}, Data: make([]byte, 4)}},
		{`output "y": the protocol has no datatype for float8_e4m3fn`, oip.Tensor{Name: "y", DType: dlpack.Float8E4M3FN,
			Data: []byte{1}}},
		{"internal error", oip.Tensor{Name: "\xff", DType: dlpack.Int8, Data: []byte{1}}},
	} {
		f.infer = func(context.Context, *oip.Request) (*oip.Response, error) {
			o := test.output
			f.own(&o, o.Data)
			return &oip.Response{Outputs: []oip.Tensor{o}}, nil
		}
		_, err := client.ModelInfer(t.Context(), testRequest(""))
		require.Equal(t, codes.Internal, status.Code(err))
		require.ErrorContains(t, err, test.message)
	}
	f.infer = func(context.Context, *oip.Request) (*oip.Response, error) {
		var o oip.Tensor
		f.own(&o, make([]byte, 1))
		return &oip.Response{Outputs: []oip.Tensor{o}}, errors.New("and an error")
	}
	_, err := client.ModelInfer(t.Context(), testRequest(""))
	require.Equal(t, codes.Internal, status.Code(err))
	f.infer = func(context.Context, *oip.Request) (*oip.Response, error) { return nil, nil }
	_, err = client.ModelInfer(t.Context(), testRequest(""))
	require.Equal(t, codes.Internal, status.Code(err))
}

func TestModelInfer_Canceled(t *testing.T) {
	f := &fake{}
	client := NewGRPCInferenceServiceClient(start(t, f, oip.Limits{}))
	begun, ended := make(chan struct{}), make(chan error, 1)
	f.infer = func(ctx context.Context, _ *oip.Request) (*oip.Response, error) {
		close(begun)
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		cancel()
	}()
	_, err := client.ModelInfer(ctx, testRequest(""))
	require.Equal(t, codes.Canceled, status.Code(err))
	require.ErrorIs(t, <-ended, context.Canceled)
}

// TestInterceptors checks that they run, for every call, and before its message is read.
func TestInterceptors(t *testing.T) {
	f := &fake{alloc: func(*oip.Tensor) error { t.Error("the request is read"); return nil }}
	refused := Status(oip.Errorf(oip.Unauthenticated, "no token"))
	conn := start(t, f, oip.Limits{}, grpc.StreamInterceptor(func(_ any, stream grpc.ServerStream,
		call *grpc.StreamServerInfo, _ grpc.StreamHandler) error {
		require.Equal(t, call.FullMethod == GRPCInferenceService_ModelStreamInfer_FullMethodName, call.IsClientStream)
		return refused
	}), grpc.UnaryInterceptor(func(_ context.Context, m any, _ *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any, error) {
		require.Zero(t, proto.Size(m.(proto.Message)), "it is not read yet")
		return nil, refused
	}))
	for _, m := range GRPCInferenceService_ServiceDesc.Methods {
		call := "/inference.GRPCInferenceService/" + m.MethodName
		err := conn.Invoke(t.Context(), call, testRequest("12"), new(emptypb.Empty))
		require.ErrorIs(t, err, refused, m.MethodName)
	}
	stream := must.Get(NewGRPCInferenceServiceClient(conn).ModelStreamInfer(t.Context()))(t)
	_, err := stream.Recv()
	require.ErrorIs(t, err, refused)
}

func TestModelInfer_TwoMessages(t *testing.T) {
	conn := start(t, &fake{}, oip.Limits{})
	stream := must.Get(conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true},
		GRPCInferenceService_ModelInfer_FullMethodName))(t)
	require.NoError(t, stream.SendMsg(testRequest("")))
	require.NoError(t, stream.SendMsg(testRequest("")))
	require.NoError(t, stream.CloseSend())
	err := stream.RecvMsg(&ModelInferResponse{})
	require.Equal(t, codes.Internal, status.Code(err))
	require.ErrorContains(t, err, "this call has one request")
}
