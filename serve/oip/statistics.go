package oip

import "time"

// Statistics count what a version of a model has done since the server started. They are a part of those of Triton,
// which have the same meaning.
type Statistics struct {
	Model, Version string
	Last           time.Time // when the last request succeeded or failed; zero if there was none
	Inferences     uint64    // rows that were computed: a request with a batch of 8 counts 8
	Executions     uint64    // calls of the model: requests that are computed together count once

	Success       Durations // requests that succeeded: from their arrival to their response
	Fail          Durations // requests that failed, likewise
	Queue         Durations // requests that waited for their execution
	ComputeInput  Durations // copying inputs to the device
	ComputeInfer  Durations // computing the model
	ComputeOutput Durations // copying outputs from the device

	Batches []BatchStatistics // by Size
}

// BatchStatistics count the calls of a model with batches of one size.
type BatchStatistics struct {
	Size          uint64 // rows in the batch
	ComputeInput  Durations
	ComputeInfer  Durations
	ComputeOutput Durations
}

// Durations are those of events of one kind.
type Durations struct {
	Count uint64
	Total time.Duration // of all events together
}
