// Package compare compares programs of package tir: [Equal] says whether two are the same, where what a program binds
// is identified by its position and not by its name; [Difference] says where they differ; [Hash] is the same for equal
// programs in every process.
//
// It follows the descriptions of the nodes ([tir.NodeType]), so that a new node needs no code here.
package compare
