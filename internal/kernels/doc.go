// Package kernels is the common part of device modules. It describes the kernels of a file to C (kernels.h), where every
// launch runs, and lists, shows and saves such a module. Its C files also hold the handles of devices whose memory has no
// address (handle.h).
package kernels
