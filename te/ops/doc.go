// Package ops has tensors that networks are made of, written with package te: what they compute, not how. Each gives a tensor that carries
// its error, as those of package te do.
package ops
