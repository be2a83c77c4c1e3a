// Package arith simplifies expressions and statements of package tir, proves conditions, and bounds values.
//
// An [Analyzer] holds the ranges of variables and the conditions that are known to hold. Its answers are correct for
// all values of the variables that satisfy them.
//
// Integers of type int32 and int64 are index arithmetic. As in TVM, it is assumed not to overflow, neither in the given
// program nor when the order of its additions changes, so they behave like mathematical integers. A code generator that
// reorders sums must compute them so that intermediate sums may wrap. Unsigned integers and narrower signed ones do
// wrap, and are simplified only where that makes no difference.
//
// Floats are simplified only where each bit of the result is preserved: x*1 becomes x, but x+0 stays (for -0 it is +0).
// Nothing is reassociated, and every value may be NaN. Divisions by zero are left unchanged.
//
// Calls with side effects stay; only their arguments are simplified. Conditions that read memory are not kept as facts,
// because memory changes.
//
// Each answer takes a bounded number of steps. When they are used up, an expression remains as it is, and a proof
// fails. That is not an error.
package arith
