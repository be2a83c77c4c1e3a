// Package dlpack contains the basic values that all other packages use: device types and devices, element types, and
// views of tensors. They have the sizes and numbers of the C structs of DLPack, so that a binding can copy them field
// by field.
//
// The package imports no other package of this module, allocates nothing in functions that run for each call, and keeps
// no pointers: a [Tensor] contains an address as a number, and its creator must keep the memory alive.
//
// # Two generations
//
// TVM changed several of these values between its classic C ABI (v0.18 and older) and the tvm-ffi ABI. Where they
// differ, the plain name is the modern form and the other name contains Classic: [ParseDataType] and
// [ParseDataTypeClassic], [DataType.String] and [DataType.ClassicString], [DataSize] and [ClassicDataSize], [Bool]
// ({6,8,1}) and [ClassicBool] ({1,1,1}). Nothing in this package converts a tensor from one form to the other; its
// creator chooses the form.
//
// # Adding a device type
//
// [RegisterDeviceType] adds a number, a name and aliases to the table that [ParseDeviceType], [ParseDevice],
// [DeviceType.String] and [DeviceTypes] use.
package dlpack
