// Package tirunknown tests how nodes that are not known are handled: it defines node types of package tir ([Value],
// [Pure], [Sum], [Event], [Block]), puts them into programs, and runs every pass, analysis, form and generator. Each
// must keep the meaning of the nodes, or return an error that names them; none may ignore them.
//
// [Lower] gives the nodes their meaning: calls of functions that the test provides, which record the calls.
package tirunknown
