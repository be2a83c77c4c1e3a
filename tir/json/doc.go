// Package json writes modules of package tir as JSON ([Marshal]) and reads them ([Unmarshal]); errors have the path to
// what is wrong.
//
// It follows the descriptions of the nodes ([tir.NodeType]), so that a new node needs no code here unless its fields
// have to match each other.
package json
