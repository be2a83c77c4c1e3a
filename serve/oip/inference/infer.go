package inference

import (
	"context"
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc"

	"tvmgo/serve/oip"
)

// maxInFlight is the number of requests of one stream that are answered at the same time. While there are so many, or
// while their tensors have more than Limits.BodyBytes, the next message is not read, and the client has to wait (flow
// control of HTTP/2).
const maxInFlight = 32

// inFlight are the requests of a stream that have no response yet.
type inFlight struct {
	mu       sync.Mutex
	changed  sync.Cond
	requests int
	bytes    int64 // of their inputs, and of outputs that are not sent
}

// wait waits until another request may be read.
func (f *inFlight) wait(bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.requests >= maxInFlight || f.bytes > bytes {
		f.changed.Wait()
	}
}

func (f *inFlight) add(requests int, bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests += requests
	f.bytes += bytes
	f.changed.Signal() // the one that reads
}

func bytesOf(list []oip.Tensor) (n int64) {
	for i := range list {
		n += int64(len(list[i].Data))
	}
	return n
}

func (s *service) newRequest() *request { return &request{backend: s.backend, limits: s.limits} }

// infer answers a request, and frees its inputs. The caller frees the outputs.
func (s *service) infer(ctx context.Context, r *request) (*oip.Response, error) {
	defer r.release()
	if r.err != nil {
		return nil, r.err
	}
	response, err := s.backend.Infer(ctx, &r.Request)
	if err != nil {
		if response != nil {
			s.backend.Release(response.Outputs)
		}
		return nil, err
	}
	if response == nil {
		return nil, errors.New("the server of models has neither a response nor an error")
	}
	return response, nil
}

// modelInfer is the call ModelInfer. It sends its response as a stream does, because SendMsg returns when the message
// has been encoded: only then are the outputs freed.
func (s *service) modelInfer(stream grpc.ServerStream) error {
	r := s.newRequest()
	if err := stream.RecvMsg(r); err != nil {
		r.release()
		return err
	}
	response, err := s.infer(stream.Context(), r)
	if err != nil {
		return withTrailer(err, stream.SetTrailer)
	}
	defer s.backend.Release(response.Outputs)
	m, err := newResponse(response, false)
	if err != nil {
		return Status(err)
	}
	return stream.SendMsg(m)
}

// modelStreamInfer is the call ModelStreamInfer.
func (s *service) modelStreamInfer(stream grpc.ServerStream) error {
	ctx, cancel := context.WithCancelCause(stream.Context())
	var group sync.WaitGroup
	var sending sync.Mutex
	var flight inFlight
	flight.changed.L = &flight.mu
	for {
		flight.wait(s.limits.BodyBytes) // requests end when ctx is done
		r := s.newRequest()
		if err := stream.RecvMsg(r); err != nil {
			r.release()
			if !errors.Is(err, io.EOF) {
				cancel(err)
			}
			break
		}
		if ctx.Err() != nil { // a response could not be sent
			r.release()
			break
		}
		size := bytesOf(r.Inputs)
		flight.add(1, size)
		group.Go(func() {
			err := s.respond(ctx, stream, &sending, r, func(outputs int64) {
				flight.add(0, outputs-size) // the inputs are free
				size = outputs
			})
			if err != nil {
				cancel(err)
			}
			flight.add(-1, -size)
		})
	}
	group.Wait()
	defer cancel(nil)
	return Status(context.Cause(ctx))
}

// respond answers a request of a stream. It calls computed with the bytes of the outputs before it sends them. The
// error is that of the stream.
func (s *service) respond(ctx context.Context, stream grpc.ServerStream, sending *sync.Mutex, r *request,
	computed func(bytes int64)) error {
	id, model := r.ID, r.Model
	var m any
	result, err := s.infer(ctx, r)
	if err == nil {
		computed(bytesOf(result.Outputs))
		defer s.backend.Release(result.Outputs)
		m, err = newResponse(result, true)
	}
	if err != nil {
		m = failure(id, model, err)
	}
	sending.Lock()
	defer sending.Unlock()
	return stream.SendMsg(m)
}

// failure is the response to a request of a stream that has failed. The parameters say what a status and its trailers
// say outside of streams.
func failure(id, model string, err error) *ModelStreamInferResponse {
	e := answer(err)
	number := func(n int64) *InferParameter {
		return &InferParameter{ParameterChoice: &InferParameter_Int64Param{Int64Param: n}}
	}
	parameters := map[string]*InferParameter{finalResponse: boolParameter(true),
		grpcStatus: number(int64(statusCode(e.Code)))}
	if e.RetryAfter > 0 {
		parameters[retryAfter] = number(seconds(e.RetryAfter))
	}
	message := shortened(e.Message)
	if message == "" { // it would be a success
		message = statusCode(e.Code).String()
	}
	return &ModelStreamInferResponse{ErrorMessage: message,
		InferResponse: &ModelInferResponse{Id: id, ModelName: model, Parameters: parameters}}
}
