// Package oip has the messages of the Open Inference Protocol, version 2, and their form in HTTP: JSON, with raw
// elements behind it if a client uses the extension for binary tensors. The form in gRPC is package inference.
//
// The specification is github.com/kserve/open-inference-protocol; the extensions for binary tensors, the model
// repository and statistics are those of NVIDIA's Triton server.
//
// A handler reads a body with [ReadRequest], sets the name of the model from the URL, and writes the outputs with
// [Response.Write]. [MarshalError] and the other Marshal functions make the remaining bodies. Every error that a client
// should see is an [*Error]; its [Code] has a status of HTTP.
//
// Raw elements are little-endian in the protocol, and are the memory of tensors without a change: the machine must be
// little-endian, as every machine that this module supports.
package oip
