package tir

// What the tests of this package use of it beside its exported names.
const (
	NumBinaryOps = numBinaryOps
	MaxErrors    = maxErrors
)

var RoundFloat = roundFloat
