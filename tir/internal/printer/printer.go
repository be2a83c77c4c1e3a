// Package printer connects package tir with the printer of package tir/text, which imports package tir. The String
// methods of tir and the messages of tir.Check print nodes with it.
package printer

// Print returns the text of a node of package tir. It is nil in a program that does not contain package tir/text.
var Print func(node any) string
