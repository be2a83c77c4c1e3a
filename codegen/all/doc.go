// Package all enables every code generator of this module: a program that imports it builds for each kind of target
// that one of them is for.
//
//	import _ "tvmgo/codegen/all"
//
// Its list is generated: `make generators` finds the packages under codegen that call codegen.Register.
package all
