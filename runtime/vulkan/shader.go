package vulkan

/*
#include <stdlib.h>
#include "launch.h"
*/
import "C"

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"tvmgo/blob"
	"tvmgo/dlpack"
	"tvmgo/internal/diskcache"
	"tvmgo/internal/kernels"
	"tvmgo/internal/spirv"
	"tvmgo/runtime"
)

// Build implements kernels.Builder: it creates the pipeline of a kernel for a device.
func (c *code) Build(k unsafe.Pointer, i, device int) error {
	return c.make((*C.vk_function)(k), &c.of.Functions[i], C.tvmgo_vk_at(C.int32_t(device)))
}

// pipelines is the disk cache of pipelines, with an entry for each. Its key contains the shader and the driver.
const pipelines = diskcache.Cache("vulkan")

func (c *code) make(k *C.vk_function, f *blob.Function, d *C.vk_device) error {
	s, _ := c.of.Shader(f.Key)
	module, err := parse(s.Code)
	if err != nil {
		return kernels.Corrupt("kernel %s: its shader: %v", f.Key, err)
	}
	e, err := entryPoint(module, f.Name)
	if err != nil {
		return err
	}
	shape, err := shapeOf(f, s.Flag, e)
	if err != nil {
		return err
	}
	if err := checkDevice(f.Key, module, e, d); err != nil {
		return err
	}
	if err := checkScalars(f.Key, &shape, d); err != nil {
		return err
	}
	if err := checkBuffers(f.Key, &shape, d); err != nil {
		return err
	}
	if err := needSubgroups(f.Key, module, e, d, &shape); err != nil {
		return err
	}
	p := &d.properties
	key := diskcache.Key("pipeline", string(C.GoBytes(unsafe.Pointer(&p.pipelineCacheUUID[0]), 16)),
		C.GoString(&p.deviceName[0]), fmt.Sprint(p.vendorID, p.deviceID, p.driverVersion), string(s.Code), f.Name,
		fmt.Sprint(shape.num_buffers, shape.num_scalars, shape.uniform, d.has.push_descriptor))
	kept := pipelines.Read(key)
	var data unsafe.Pointer
	var size C.size_t
	rc := C.tvmgo_vk_pipeline_make(k, d, &shape, (*C.uint32_t)(unsafe.SliceData(module.Words)),
		C.size_t(len(module.Words)), unsafe.Pointer(unsafe.SliceData(kept)), C.size_t(len(kept)), &data, &size)
	defer C.free(data)
	if rc != 0 {
		return kernels.Raised()
	}
	if now := unsafe.Slice((*byte)(data), size); size > 0 && !bytes.Equal(now, kept) {
		_ = pipelines.Write(key, bytes.Clone(now)) // an error only makes the next start slower
	}
	return nil
}

// parse reads and checks a SPIR-V module, because drivers crash on invalid ones.
func parse(code []byte) (*spirv.Module, error) {
	m, err := spirv.Parse(code)
	if err == nil {
		err = m.Check()
	}
	return m, err
}

// entryPoint finds the entry point of a kernel.
func entryPoint(m *spirv.Module, name string) (*spirv.EntryPoint, error) {
	if e, ok := m.EntryPoint(name, spirv.Compute); ok {
		return e, nil
	}
	there := "none"
	if names := m.Names(spirv.Compute); len(names) > 0 {
		there = strings.Join(names, ", ")
	}
	return nil, kernels.Corrupt("kernel %s is not in the shader, whose compute entry points are: %s", name, there)
}

// shapeOf returns the arguments that a launch passes to a shader, after a check that the shader reads no others.
func shapeOf(f *blob.Function, flag uint32, e *spirv.EntryPoint) (C.vk_shape, error) {
	var s C.vk_shape
	for _, t := range f.ArgTypes {
		if t.Code == dlpack.CodeHandle {
			s.num_buffers++
		} else {
			s.num_scalars++
		}
	}
	if !e.Computed {
		for i, n := range e.LocalSize {
			s.block[i] = C.uint32_t(n)
		}
	}
	for i := range int(s.num_buffers) {
		s.access[i] = C.USE_READ | C.USE_WRITE
	}
	inUniform := flag&blob.ShaderUniformScalars != 0
	scalarBytes := 8 * uint64(s.num_scalars)
	wrong := func(format string, args ...any) (C.vk_shape, error) {
		return s, kernels.Corrupt("kernel %s: %s", f.Key, fmt.Sprintf(format, args...))
	}
	for _, b := range e.Bindings {
		n := b.Number
		switch {
		case b.Set != 0 || b.Count != 1:
			return wrong("the shader has a %v in binding %d of set %d, with %d elements: kernels take single buffers in set 0",
				b.Kind, n, b.Set, b.Count)
		case b.Kind == spirv.StorageBuffer && n < uint32(s.num_buffers):
			if b.ReadOnly && !written(e, n) {
				s.access[n] = C.USE_READ
			}
		case b.Kind == spirv.UniformBuffer && n == uint32(s.num_buffers) && inUniform && b.Bytes <= scalarBytes:
			s.uniform = 1
		case b.Kind == spirv.UniformBuffer && !inUniform:
			return wrong("the shader takes scalars from a uniform buffer, but its description says push constants")
		case b.Kind == spirv.UniformBuffer && n == uint32(s.num_buffers):
			return wrong("the shader reads %d bytes of scalars, but the kernel has %d scalars, %d bytes", b.Bytes,
				int(s.num_scalars), scalarBytes)
		default:
			return wrong("the shader uses binding %d, a %v, but the kernel has %s", n, b.Kind, bindings(int(s.num_buffers),
				inUniform))
		}
	}
	switch {
	case e.PushConstants > 0 && inUniform:
		return wrong("the shader takes scalars from push constants, but its description says a uniform buffer")
	case uint64(e.PushConstants) > scalarBytes:
		return wrong("the shader reads %d bytes of scalars, but the kernel has %d scalars, %d bytes", e.PushConstants,
			int(s.num_scalars), scalarBytes)
	case s.uniform == 0 && e.PushConstants == 0:
		s.unread = 1
	}
	for _, scalar := range e.Scalars {
		if cause := misread(f.ArgTypes, int(s.num_buffers), scalar); cause != "" {
			return wrong("%s", cause)
		}
	}
	return s, nil
}

// written reports whether a shader may write one of the variables with binding n.
func written(e *spirv.EntryPoint, n uint32) bool {
	return slices.ContainsFunc(e.Bindings, func(b spirv.Binding) bool {
		return b.Set == 0 && b.Number == n && !b.ReadOnly
	})
}

// misread describes how a scalar that a shader reads differs from the argument at its offset; "" if it does not. Each
// argument has 8 bytes. A shader may read the bits of an argument as an integer.
func misread(args []dlpack.DataType, buffers int, s spirv.Scalar) string {
	i := buffers + int(s.Offset/8)
	if s.Offset/8 >= uint64(len(args)-buffers) {
		return "" // beyond the arguments: the sizes are already checked, so the shader does not read it
	}
	at, have := uint32(s.Offset%8), args[i]
	kind := "an integer"
	if s.Float {
		kind = "a float"
	}
	switch {
	case 8*at+s.Bits > 64 || at > 0 && have.Bits <= 32:
		return fmt.Sprintf("the shader reads %s of %d bits at byte %d of its scalars; each scalar begins at a multiple of "+
			"8 bytes (in GLSL: layout(offset = %d))",
			kind, s.Bits, s.Offset, (s.Offset+7)/8*8)
	case s.Bits > uint32(have.Bits) || s.Float && (have.Code != dlpack.CodeFloat || s.Bits != uint32(have.Bits)):
		return fmt.Sprintf("the shader reads argument %d as %s of %d bits, but it is of type %v", i, kind, s.Bits, have)
	}
	return ""
}

// bindings describes the bindings of a kernel.
func bindings(buffers int, uniform bool) string {
	var text string
	switch buffers {
	case 0:
		text = "no buffers"
	case 1:
		text = "one buffer, binding 0"
	default:
		text = fmt.Sprintf("%d buffers, bindings 0 to %d", buffers, buffers-1)
	}
	if uniform {
		text += fmt.Sprintf(", and scalars in binding %d", buffers)
	}
	return text
}

// deviceText names a device, as in "vulkan:0 (llvmpipe)".
func deviceText(d *C.vk_device) string {
	return fmt.Sprintf("vulkan:%d (%s)", int(d.index), C.GoString(&d.properties.deviceName[0]))
}

// checkScalars returns an error if the scalars need more push constants than the device has.
func checkScalars(kernel string, s *C.vk_shape, d *C.vk_device) error {
	need, limit := 8*int(s.num_scalars), int(d.properties.limits.maxPushConstantsSize)
	if s.uniform != 0 || s.unread != 0 || need <= limit {
		return nil
	}
	return kernels.NotSupported("kernel %s has %d scalars, %d bytes of push constants; %s has %d bytes: compile it so "+
		"that scalars come from a uniform buffer",
		kernel, int(s.num_scalars), need, deviceText(d), limit)
}

// checkBuffers returns an error if a kernel has more buffers than a shader can use on the device.
func checkBuffers(kernel string, s *C.vk_shape, d *C.vk_device) error {
	limits := &d.properties.limits
	most := min(limits.maxPerStageDescriptorStorageBuffers, limits.maxDescriptorSetStorageBuffers,
		limits.maxPerStageResources-C.uint32_t(s.uniform))
	if s.num_buffers <= most {
		return nil
	}
	return tooLarge("kernel %s takes %d arrays; on %s a kernel has at most %d", kernel, int(s.num_buffers), deviceText(d),
		int(most))
}

// checkDevice checks that a device supports a shader's version, capabilities, block size and shared memory.
func checkDevice(kernel string, m *spirv.Module, e *spirv.EntryPoint, d *C.vk_device) error {
	version := uint32(m.Major)<<16 | uint32(m.Minor)<<8
	if limit := uint32(d.max_spirv_version); version > limit {
		return kernels.NotSupported("kernel %s is SPIR-V %d.%d; %s supports versions up to %d.%d: build it with the "+
			"option max_spirv_version=%#x of target vulkan", kernel, m.Major, m.Minor, deviceText(d), limit>>16, limit>>8&0xff,
			limit&^0xff)
	}
	for _, c := range m.Capabilities {
		if need, ok := has(c, d); !ok {
			return lacks(kernel, need, c, d)
		}
	}
	if err := checkFloats(kernel, e, d); err != nil {
		return err
	}
	if slices.Contains(e.LocalSize[:], 0) && !e.Computed {
		return kernels.Corrupt("kernel %s has blocks of %v: its shader must set their size (LocalSize)",
			kernel, e.LocalSize)
	}
	if e.SizeByID && d.has.maintenance4 == 0 {
		return kernels.NotSupported("kernel %s needs maintenance4 (execution mode LocalSizeId), which %s lacks", kernel,
			deviceText(d))
	}
	limits := &d.properties.limits
	items := uint64(1)
	for i, n := range e.LocalSize {
		if limit := uint32(limits.maxComputeWorkGroupSize[i]); n > limit {
			return tooLarge("kernel %s has blocks of %v; on %s threadIdx.%c is at most %d: bind a shorter loop to it", kernel,
				e.LocalSize, deviceText(d), "xyz"[i], limit)
		}
		items *= uint64(n) // cannot overflow: limits are small
	}
	if limit := uint64(limits.maxComputeWorkGroupInvocations); items > limit {
		return tooLarge("kernel %s has blocks of %v, %d work-items; %s has at most %d: build for this target: "+
			"max_threads_per_block=%d", kernel, e.LocalSize, items, deviceText(d), limit, limit)
	}
	if limit := uint64(limits.maxComputeSharedMemorySize); e.SharedBytes > limit {
		return tooLarge("kernel %s uses %d bytes of shared memory in each block, %d more than %s has (%d): use smaller "+
			"tiles, or build for this target: max_shared_memory_per_block=%d", kernel, e.SharedBytes, e.SharedBytes-limit,
			deviceText(d), limit, limit)
	}
	return nil
}

func tooLarge(format string, args ...any) error {
	return runtime.Errorf(runtime.ErrInvalidArgument, format, args...)
}
