// Package dlpack holds the plain values that every other package speaks: device types and devices, element types, and a
// view of a tensor. They have the sizes and numbers of the DLPack C structs, so a binding copies them field by field.
//
// The package imports nothing of this module, allocates nothing on its hot paths and keeps no pointer: a [Tensor]
// carries an address as a number, and whoever made it keeps the memory alive.
//
// # Two generations
//
// TVM changed several of these values on the way from its classic C ABI (v0.18 and older) to the tvm-ffi ABI. Where
// they differ, the plain name is the modern form and the other one says Classic: [ParseDataType] and
// [ParseDataTypeClassic], [DataType.String] and [DataType.ClassicString], [DataSize] and [ClassicDataSize], [Bool]
// ({6,8,1}) and [ClassicBool] ({1,1,1}). Nothing here converts a tensor from one to the other: whoever creates it
// chooses.
//
// # Adding a device type
//
// [RegisterDeviceType] adds a number, a name and aliases to the one table that [ParseDeviceType], [ParseDevice],
// [DeviceType.String] and [DeviceTypes] read.
package dlpack
