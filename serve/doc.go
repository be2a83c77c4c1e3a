// Package serve answers requests of the Open Inference Protocol, version 2, by HTTP and gRPC. A model is any library
// that tvmgo makes or Apache TVM exported. The program tvmgo has it as the command serve; a server of your own mounts
// the handler:
//
//	s, err := serve.New(serve.Options{Models: []string{"mlp=mlp.so"}})
//	defer s.Close()
//	http.ListenAndServe("localhost:8000", s.Handler())
//
// A [Server] has models by name. Each has a queue with a bound, in which requests wait for a worker. A worker is an
// instance of the model on a device; it takes requests that came together and runs them as one batch, if the model's
// first dimension is open. The packages below know one thing each:
//
//   - oip: the messages of the protocol, and their form in HTTP bodies
//   - oip/inference: their form in gRPC
//   - queue: the queue and the batches, without models
//   - model: a library as a model with named inputs and outputs
package serve
