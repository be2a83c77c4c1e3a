// Package compare compares programs of package tir. [Equal] reports whether two programs are the same; what a program
// binds is identified by its position, not by its name. [Difference] returns where and how they differ. [Hash] is the
// same for equal programs in every process.
//
// The package works on the descriptions of the nodes ([tir.NodeType]), so that a new node needs no code here.
package compare
