// Package tirnodes makes programs of package tir for tests of what works on all nodes: one node of each type
// ([EveryNode]), random modules of all types, data types and names ([Module]), random functions that are well-formed
// but for their indices ([Program]), and deep ones. Package tirgen makes programs that can run.
package tirnodes
