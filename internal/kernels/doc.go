// Package kernels has the part of a device module that is the same for all device types. It passes the description of
// each kernel to C (kernels.h), which runs every launch. When a kernel is first launched on a device, it calls the
// device's package to compile or load the kernel. It also lists, prints and saves the code of a module. What device
// packages share apart from kernels is in package internal/backend.
package kernels
