// Package tirnodes makes programs of package tir, for tests of code that must handle all nodes: a node of each type
// ([EveryNode]); random modules of all types, data types and names ([Module]); random functions that are well-formed
// except for their indices ([Program]); and deep ones. Package tirgen makes programs that can run.
package tirnodes
