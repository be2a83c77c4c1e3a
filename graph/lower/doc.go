// Package lower lowers functions of package graph to a program of TVM's Relax virtual machine: kernels, which are
// functions of package tir, and bytecode that allocates tensors and calls them.
package lower
