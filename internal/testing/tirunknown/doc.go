// Package tirunknown tests what is done with nodes that are not known: it describes types of nodes of its own to
// package tir ([Value], [Pure], [Sum], [Event], [Block]), puts them into programs, and runs every pass, analysis, form
// and generator. Each must keep their meaning, or return an error that names the node; none may ignore it.
//
// [Lower] says what the nodes mean: calls of functions that the test provides, which note that they were called.
package tirunknown
