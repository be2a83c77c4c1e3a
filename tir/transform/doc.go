// Package transform has the passes between lowering (package te) and code generation (package codegen). Each pass is
// a function that makes a new module from a module, for a target, and does not change its argument. The comment of a
// pass says what it guarantees and requires.
//
// Code for a CPU takes what ForC lists. Code for a device is made by VerifyMemory, LegalizeTypes, arith.Simplify, ThreadSync, ReuseStorage, VerifyLimits and
// SplitHostDevice, in this order; then its kernels by Vectorize, Unroll and arith.Simplify, and its host's functions by ForC.
//
// Package transform imports no device and no generator.
package transform

import (
	"tvmgo/target"
	"tvmgo/tir"
)

// Pass is what every function of this package is.
type Pass = func(m *tir.IRModule, t *target.Target) (*tir.IRModule, error)
