// Package json writes modules of package tir as JSON ([Marshal]) and reads them ([Unmarshal]). Errors contain the path
// of the faulty value.
//
// The package works on the descriptions of the nodes ([tir.NodeType]), so that a new node needs code here only if its
// fields must match each other.
package json
