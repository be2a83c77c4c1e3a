package inference

import (
	"context"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"tvmgo/dlpack"
	"tvmgo/serve/oip"
)

// unary returns the status for the error of a call with one message in each direction.
func unary(ctx context.Context, err error) error {
	return withTrailer(err, func(md metadata.MD) { _ = grpc.SetTrailer(ctx, md) }) // fails only for a ctx of another kind
}

func (s *service) ServerLive(context.Context, *ServerLiveRequest) (*ServerLiveResponse, error) {
	return &ServerLiveResponse{Live: s.backend.Live()}, nil
}

func (s *service) ServerReady(context.Context, *ServerReadyRequest) (*ServerReadyResponse, error) {
	return &ServerReadyResponse{Ready: s.backend.Ready()}, nil
}

func (s *service) ModelReady(ctx context.Context, r *ModelReadyRequest) (*ModelReadyResponse, error) {
	ready, err := s.backend.ModelReady(r.Name, r.Version)
	if err != nil {
		return nil, unary(ctx, err)
	}
	return &ModelReadyResponse{Ready: ready}, nil
}

func (s *service) ServerMetadata(context.Context, *ServerMetadataRequest) (*ServerMetadataResponse, error) {
	m := s.backend.Server()
	return &ServerMetadataResponse{Name: m.Name, Version: m.Version, Extensions: m.Extensions}, nil
}

func (s *service) ModelMetadata(ctx context.Context, r *ModelMetadataRequest) (*ModelMetadataResponse, error) {
	m, err := s.backend.Metadata(r.Name, r.Version)
	if err != nil {
		return nil, unary(ctx, err)
	}
	response := &ModelMetadataResponse{Name: m.Name, Versions: m.Versions, Platform: m.Platform}
	for _, side := range []struct {
		from []oip.TensorMetadata
		to   *[]*ModelMetadataResponse_TensorMetadata
	}{{m.Inputs, &response.Inputs}, {m.Outputs, &response.Outputs}} {
		for _, t := range side.from {
			datatype, ok := oip.DatatypeName(t.DType)
			if !ok {
				return nil, unary(ctx, noDatatype(m, &t))
			}
			*side.to = append(*side.to, &ModelMetadataResponse_TensorMetadata{Name: t.Name, Datatype: datatype,
				Shape: t.Shape})
		}
	}
	return response, nil
}

func noDatatype(m *oip.Metadata, t *oip.TensorMetadata) error {
	return oip.Errorf(oip.Internal, "metadata of model %q: tensor %q: the protocol has no datatype for %s", m.Name,
		t.Name, t.DType)
}

// configTypes are the types of Triton's configuration.
var configTypes = map[dlpack.DataType]DataType{
	dlpack.Bool: DataType_TYPE_BOOL, dlpack.ClassicBool: DataType_TYPE_BOOL,
	dlpack.UInt8: DataType_TYPE_UINT8, dlpack.UInt16: DataType_TYPE_UINT16, dlpack.UInt32: DataType_TYPE_UINT32,
	dlpack.UInt64: DataType_TYPE_UINT64, dlpack.Int8: DataType_TYPE_INT8, dlpack.Int16: DataType_TYPE_INT16,
	dlpack.Int32: DataType_TYPE_INT32, dlpack.Int64: DataType_TYPE_INT64, dlpack.Float16: DataType_TYPE_FP16,
	dlpack.Float32: DataType_TYPE_FP32, dlpack.Float64: DataType_TYPE_FP64, dlpack.BFloat16: DataType_TYPE_BF16,
}

// ModelConfig describes a model without a batch dimension of Triton: the shapes are complete.
func (s *service) ModelConfig(ctx context.Context, r *ModelConfigRequest) (*ModelConfigResponse, error) {
	m, err := s.backend.Metadata(r.Name, r.Version)
	if err != nil {
		return nil, unary(ctx, err)
	}
	c := &ModelConfig{Name: m.Name, Platform: m.Platform}
	for _, t := range m.Inputs {
		if configTypes[t.DType] == 0 {
			return nil, unary(ctx, noDatatype(m, &t))
		}
		c.Input = append(c.Input, &ModelInput{Name: t.Name, DataType: configTypes[t.DType], Dims: t.Shape})
	}
	for _, t := range m.Outputs {
		if configTypes[t.DType] == 0 {
			return nil, unary(ctx, noDatatype(m, &t))
		}
		c.Output = append(c.Output, &ModelOutput{Name: t.Name, DataType: configTypes[t.DType], Dims: t.Shape})
	}
	return &ModelConfigResponse{Config: c}, nil
}

func (s *service) ModelStatistics(ctx context.Context, r *ModelStatisticsRequest) (*ModelStatisticsResponse, error) {
	all, err := s.backend.Statistics(r.Name, r.Version)
	if err != nil {
		return nil, unary(ctx, err)
	}
	response := &ModelStatisticsResponse{}
	for i := range all {
		response.ModelStats = append(response.ModelStats, statistics(&all[i]))
	}
	return response, nil
}

func statistics(s *oip.Statistics) *ModelStatistics {
	m := &ModelStatistics{Name: s.Model, Version: s.Version, InferenceCount: s.Inferences, ExecutionCount: s.Executions,
		InferenceStats: &InferStatistics{Success: durations(s.Success), Fail: durations(s.Fail),
			Queue: durations(s.Queue), ComputeInput: durations(s.ComputeInput),
			ComputeInfer: durations(s.ComputeInfer), ComputeOutput: durations(s.ComputeOutput),
			CacheHit: &StatisticDuration{}, CacheMiss: &StatisticDuration{}}}
	if !s.Last.IsZero() {
		m.LastInference = uint64(s.Last.UnixMilli())
	}
	for _, b := range s.Batches {
		m.BatchStats = append(m.BatchStats, &InferBatchStatistics{BatchSize: b.Size,
			ComputeInput: durations(b.ComputeInput), ComputeInfer: durations(b.ComputeInfer),
			ComputeOutput: durations(b.ComputeOutput)})
	}
	return m
}

func durations(d oip.Durations) *StatisticDuration {
	return &StatisticDuration{Count: d.Count, Ns: uint64(d.Total.Nanoseconds())}
}

// oneRepository is the error for a request that names a repository.
func oneRepository() error {
	return oip.Errorf(oip.Unimplemented, "the server has one repository of models: leave repository_name empty")
}

func (s *service) RepositoryIndex(ctx context.Context, r *RepositoryIndexRequest) (*RepositoryIndexResponse, error) {
	if r.RepositoryName != "" {
		return nil, unary(ctx, oneRepository())
	}
	response := &RepositoryIndexResponse{}
	for _, e := range s.backend.Index(r.Ready) {
		response.Models = append(response.Models, &RepositoryIndexResponse_ModelIndex{Name: e.Name, Version: e.Version,
			State: e.State, Reason: e.Reason})
	}
	return response, nil
}

// modelOf returns the name of the model to load or to unload. Clients of KServe send it in the field that is the name
// of the repository for others.
func modelOf(repository, model string) (string, error) {
	switch {
	case model == "" && repository == "":
		return "", oip.Errorf(oip.InvalidArgument, "model_name is empty: name a model")
	case model == "":
		return repository, nil
	case repository != "":
		return "", oneRepository()
	}
	return model, nil
}

func (s *service) RepositoryModelLoad(ctx context.Context, r *RepositoryModelLoadRequest) (
	*RepositoryModelLoadResponse, error) {
	name, err := modelOf(r.RepositoryName, r.ModelName)
	for key := range r.Parameters {
		if err == nil && (key == "config" || strings.HasPrefix(key, "file:")) {
			err = oip.Errorf(oip.Unimplemented, "load model %s: parameter %s: models in requests are not supported: "+
				"change the files in the repository", oip.Quoted(name), oip.Quoted(key))
		}
	}
	if err == nil {
		err = s.backend.Load(ctx, name)
	}
	if err != nil {
		return nil, unary(ctx, err)
	}
	return &RepositoryModelLoadResponse{ModelName: name, IsLoaded: true}, nil
}

func (s *service) RepositoryModelUnload(ctx context.Context, r *RepositoryModelUnloadRequest) (
	*RepositoryModelUnloadResponse, error) {
	name, err := modelOf(r.RepositoryName, r.ModelName)
	if err == nil {
		err = s.backend.Unload(ctx, name)
	}
	if err != nil {
		return nil, unary(ctx, err)
	}
	return &RepositoryModelUnloadResponse{ModelName: name, IsUnloaded: true}, nil
}
