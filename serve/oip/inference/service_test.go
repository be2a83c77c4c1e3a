package inference

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/serve/oip"
)

func TestDescriptor_HasEveryCall(t *testing.T) {
	var want, got []string
	for _, m := range GRPCInferenceService_ServiceDesc.Methods {
		want = append(want, m.MethodName)
	}
	d := descriptor()
	for _, m := range d.Methods {
		got = append(got, m.MethodName)
	}
	for _, s := range d.Streams {
		got = append(got, s.StreamName)
	}
	require.ElementsMatch(t, append(want, "ModelStreamInfer"), got)
}

func TestService_Answers(t *testing.T) {
	f := &fake{ready: true}
	client := NewGRPCInferenceServiceClient(start(t, f, oip.Limits{}))
	for _, dtype := range []dlpack.DataType{dlpack.Float32, dlpack.BFloat16, dlpack.ClassicBool} {
		name, _ := oip.DatatypeName(dtype)
		f.metadata = &oip.Metadata{Name: "m", Versions: []string{"1", "2"}, Platform: "p",
			Inputs:  []oip.TensorMetadata{{Name: "x", DType: dtype, Shape: []int64{-1, 3}}},
			Outputs: []oip.TensorMetadata{{Name: "y", DType: dtype, Shape: []int64{}}}}
		metadata := must.Get(client.ModelMetadata(t.Context(), &ModelMetadataRequest{Name: "m"}))(t)
		require.True(t, proto.Equal(&ModelMetadataResponse{Name: "m", Versions: []string{"1", "2"}, Platform: "p",
			Inputs:  []*ModelMetadataResponse_TensorMetadata{{Name: "x", Datatype: name, Shape: []int64{-1, 3}}},
			Outputs: []*ModelMetadataResponse_TensorMetadata{{Name: "y", Datatype: name}}}, metadata))
		config := must.Get(client.ModelConfig(t.Context(), &ModelConfigRequest{Name: "m"}))(t)
		kind := DataType(DataType_value["TYPE_"+name])
		require.True(t, proto.Equal(&ModelConfig{Name: "m", Platform: "p",
			Input:  []*ModelInput{{Name: "x", DataType: kind, Dims: []int64{-1, 3}}},
			Output: []*ModelOutput{{Name: "y", DataType: kind}}}, config.Config))
	}

	require.True(t, must.Get(client.ServerLive(t.Context(), &ServerLiveRequest{}))(t).Live)
	require.True(t, must.Get(client.ServerReady(t.Context(), &ServerReadyRequest{}))(t).Ready)
	f.ready = false
	require.False(t, must.Get(client.ServerReady(t.Context(), &ServerReadyRequest{}))(t).Ready)
	require.True(t, must.Get(client.ModelReady(t.Context(), &ModelReadyRequest{Name: "echo"}))(t).Ready)
	require.False(t, must.Get(client.ModelReady(t.Context(), &ModelReadyRequest{Name: "echo", Version: "1"}))(t).Ready)
	server := must.Get(client.ServerMetadata(t.Context(), &ServerMetadataRequest{}))(t)
	require.True(t, proto.Equal(&ServerMetadataResponse{Name: "fake", Version: "1.2", Extensions: []string{"a", "b"}},
		server))

	index := must.Get(client.RepositoryIndex(t.Context(), &RepositoryIndexRequest{}))(t)
	require.True(t, proto.Equal(&RepositoryIndexResponse{Models: []*RepositoryIndexResponse_ModelIndex{
		{Name: "echo", Version: "1", State: "READY"}, {Name: "bad", State: "UNAVAILABLE", Reason: "why"}}}, index))
	require.Len(t, must.Get(client.RepositoryIndex(t.Context(), &RepositoryIndexRequest{Ready: true}))(t).Models, 1)
}

func TestConfigTypes_AreThoseWithNames(t *testing.T) {
	for name, number := range DataType_value {
		if name == "TYPE_INVALID" || name == "TYPE_STRING" {
			continue
		}
		dtype := must.Get(oip.ParseDatatype(strings.TrimPrefix(name, "TYPE_")))(t)
		require.EqualValues(t, number, configTypes[dtype])
	}
}

func TestModelMetadata_NoDatatype(t *testing.T) {
	f := &fake{}
	client := NewGRPCInferenceServiceClient(start(t, f, oip.Limits{}))
	bad := []oip.TensorMetadata{{Name: "x", DType: dlpack.Handle}}
	for _, m := range []*oip.Metadata{{Name: "m", Inputs: bad}, {Name: "m", Outputs: bad}} {
		f.metadata = m
		_, err := client.ModelMetadata(t.Context(), &ModelMetadataRequest{})
		require.ErrorContains(t, err, `metadata of model "m": tensor "x": the protocol has no datatype for`)
		_, again := client.ModelConfig(t.Context(), &ModelConfigRequest{})
		require.Equal(t, err.Error(), again.Error())
	}
}

func TestModelStatistics(t *testing.T) {
	d := func(n uint64) oip.Durations {
		return oip.Durations{Count: n, Total: time.Duration(n) * time.Microsecond}
	}
	w := func(n uint64) *StatisticDuration { return &StatisticDuration{Count: n, Ns: 1000 * n} }
	client := NewGRPCInferenceServiceClient(start(t, &fake{stats: []oip.Statistics{{Model: "m", Version: "1",
		Last: time.UnixMilli(1234), Inferences: 12, Executions: 3, Success: d(1), Fail: d(2), Queue: d(3),
		ComputeInput: d(4), ComputeInfer: d(5), ComputeOutput: d(6), Batches: []oip.BatchStatistics{{Size: 8,
			ComputeInput: d(7), ComputeInfer: d(8), ComputeOutput: d(9)}}}, {Model: "new"}}}, oip.Limits{}))
	got := must.Get(client.ModelStatistics(t.Context(), &ModelStatisticsRequest{}))(t)
	z := w(0)
	require.True(t, proto.Equal(&ModelStatisticsResponse{ModelStats: []*ModelStatistics{{Name: "m", Version: "1",
		LastInference: 1234, InferenceCount: 12, ExecutionCount: 3, InferenceStats: &InferStatistics{Success: w(1),
			Fail: w(2), Queue: w(3), ComputeInput: w(4), ComputeInfer: w(5), ComputeOutput: w(6), CacheHit: z,
			CacheMiss: z}, BatchStats: []*InferBatchStatistics{{BatchSize: 8, ComputeInput: w(7), ComputeInfer: w(8),
			ComputeOutput: w(9)}}},
		{Name: "new", InferenceStats: &InferStatistics{Success: z, Fail: z, Queue: z, ComputeInput: z, ComputeInfer: z,
			ComputeOutput: z, CacheHit: z, CacheMiss: z}}}}, got), "%v", got)
}

func TestRepository_LoadAndUnload(t *testing.T) {
	f := &fake{}
	client := NewGRPCInferenceServiceClient(start(t, f, oip.Limits{}))
	load := func(repository, model, parameter string) error {
		_, err := client.RepositoryModelLoad(t.Context(), &RepositoryModelLoadRequest{RepositoryName: repository,
			ModelName: model, Parameters: map[string]*ModelRepositoryParameter{parameter: {}}})
		return err
	}
	r := must.Get(client.RepositoryModelLoad(t.Context(), &RepositoryModelLoadRequest{ModelName: "triton"}))(t)
	require.True(t, r.ModelName == "triton" && r.IsLoaded)
	require.NoError(t, load("kserve", "", "mine"))
	u := must.Get(client.RepositoryModelUnload(t.Context(), &RepositoryModelUnloadRequest{ModelName: "triton",
		Parameters: map[string]*ModelRepositoryParameter{"unload_dependents": {}}}))(t)
	require.True(t, u.ModelName == "triton" && u.IsUnloaded)
	must.Get(client.RepositoryModelUnload(t.Context(), &RepositoryModelUnloadRequest{RepositoryName: "kserve"}))(t)
	require.Equal(t, []string{"load triton", "load kserve", "unload triton", "unload kserve"}, f.calls)

	for _, test := range []struct {
		err     error
		code    codes.Code
		message string
	}{
		{load("", "", ""), codes.InvalidArgument, "model_name is empty"},
		{load("a", "b", ""), codes.Unimplemented, "leave repository_name empty"},
		{load("", "b", "config"), codes.Unimplemented, `load model "b": parameter "config"`},
		{load("", "b", "file:1/model"), codes.Unimplemented, "change the files in the repository"},
		{must.Fail(client.RepositoryModelUnload(t.Context(), &RepositoryModelUnloadRequest{})), codes.InvalidArgument,
			"model_name is empty"},
		{must.Fail(client.RepositoryIndex(t.Context(), &RepositoryIndexRequest{RepositoryName: "a"})),
			codes.Unimplemented, "leave repository_name empty"},
	} {
		require.Equal(t, test.code, status.Code(test.err))
		require.ErrorContains(t, test.err, test.message)
	}
	require.Len(t, f.calls, 4)
	f.err = oip.Errorf(oip.NotFound, "no model")
	require.Equal(t, codes.NotFound, status.Code(load("", "c", "")))
	_, err := client.RepositoryModelUnload(t.Context(), &RepositoryModelUnloadRequest{ModelName: "c"})
	require.Equal(t, codes.NotFound, status.Code(err))
}

// TestService_Unimplemented calls what this package leaves out.
func TestService_Unimplemented(t *testing.T) {
	conn := start(t, &fake{}, oip.Limits{})
	for _, call := range []string{"TraceSetting", "LogSettings", "SystemSharedMemoryStatus", "CudaSharedMemoryRegister"} {
		err := conn.Invoke(t.Context(), "/inference.GRPCInferenceService/"+call, &emptypb.Empty{}, &emptypb.Empty{})
		require.Equal(t, codes.Unimplemented, status.Code(err))
	}
}

func TestService_SmallMessages(t *testing.T) {
	client := NewGRPCInferenceServiceClient(start(t, &fake{}, oip.Limits{}))
	name := strings.Repeat("x", maxSmall-4)
	require.NoError(t, must.Fail(client.ModelReady(t.Context(), &ModelReadyRequest{Name: name})))
	err := must.Fail(client.ModelReady(t.Context(), &ModelReadyRequest{Name: name + "y"}))
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	require.ErrorContains(t, err, "the message has 65537 bytes, this call accepts 65536")
	err = must.Fail(client.ModelReady(t.Context(), nil))
	require.NoError(t, err, "an empty message")
}

func TestHealth(t *testing.T) {
	s := grpc.NewServer()
	setReady := RegisterHealth(s)
	conn := serve(t, &fake{}, s)
	client := grpc_health_v1.NewHealthClient(conn)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	watch := must.Get(client.Watch(ctx, &grpc_health_v1.HealthCheckRequest{}))(t)
	for i, ready := range []bool{false, true, false} {
		want := grpc_health_v1.HealthCheckResponse_NOT_SERVING
		if ready {
			want = grpc_health_v1.HealthCheckResponse_SERVING
		}
		if i > 0 {
			setReady(ready)
		}
		require.Equal(t, want, must.Get(watch.Recv())(t).Status)
		for _, service := range []string{"", "inference.GRPCInferenceService"} {
			r := must.Get(client.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: service}))(t)
			require.Equal(t, want, r.Status)
		}
	}
}

func TestStatus(t *testing.T) {
	require.NoError(t, Status(nil))
	own := status.Error(codes.Aborted, "own")
	require.Equal(t, own, Status(own))
	for code, want := range statusCodes {
		require.Equal(t, want, status.Code(Status(&oip.Error{Code: code})))
	}
	require.Equal(t, codes.Internal, status.Code(Status(errors.New("x"))))
	require.Equal(t, codes.Internal, status.Code(Status(&oip.Error{Code: 99})), "not OK")
	long := Status(oip.Errorf(oip.NotFound, "%s", strings.Repeat("é", 3000))).Error()
	require.Less(t, len(long), maxMessage+100)
	require.True(t, strings.HasSuffix(long, "é…"))
	require.Equal(t, "a\uFFFDb", status.Convert(Status(oip.Errorf(oip.NotFound, "a\xffb"))).Message())
}
