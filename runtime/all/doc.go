// Package all enables every device and every kind of module: a program that imports it finds the devices of each driver
// that it is built with and that the machine has, and runs whole models.
//
//	import _ "tvmgo/runtime/all"
//
// Its list is generated: `make generators` finds the packages under runtime that register a device or a kind of module.
// Devices of the tags cuda and opencl report, without their tag, how to build them in.
package all
