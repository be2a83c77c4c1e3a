// Package kernels is the common part of device modules. It describes the kernels of a file to C (kernels.h), where
// every launch runs, calls the device's package when a kernel is first launched on a device, and lists, shows and saves
// such a module. Package internal/backend has what devices share beside kernels.
package kernels
