// Package arith simplifies expressions and statements of package tir, proves conditions, and bounds values.
//
// An [Analyzer] is told the ranges of variables and the conditions that hold, and answers for all values that these
// leave. Whole numbers of type int32 and int64 are what indices are made of: as in TVM, their arithmetic is assumed not
// to overflow, neither in the program that is given nor by the order of its additions, so that they are numbers of
// mathematics. A generator that puts sums in another order has to compute them so that an intermediate sum may wrap.
// Unsigned numbers and ints of fewer bits do wrap, and are changed only where that makes no difference. Floats are
// changed only where each bit of the result stays: x*1 is x, x+0 is not (of -0 it is +0), nothing is reassociated,
// nothing is assumed to be a number. Division by zero is not defined, and left alone.
//
// Expressions that call functions with effects are not changed but in their parts. What reads memory is not remembered
// as a fact, since memory changes.
//
// Each answer takes a bounded number of steps. Where they run out, an expression stays as it is, and nothing is proved:
// that is no error.
package arith
