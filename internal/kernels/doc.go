// Package kernels is what the modules of device kinds share: how the kernels that a file describes are told to C
// (internal/core/kernels.h), and how such a module is listed, shown and saved.
package kernels
