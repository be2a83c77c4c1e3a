// Package kernels is the common part of device modules: it describes the kernels of a file to C
// (internal/core/kernels.h), and lists, shows and saves such a module.
package kernels
