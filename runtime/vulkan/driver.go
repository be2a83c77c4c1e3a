package vulkan

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -fvisibility=hidden -I${SRCDIR}/../../internal/core
#cgo CFLAGS: -I${SRCDIR}/../../internal/backend -I${SRCDIR}/../../internal/kernels
#cgo CFLAGS: -I${SRCDIR}/../../include -I${SRCDIR}/../../build/include
#include <stdlib.h>
#include "gobridge.h"
*/
import "C"

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"unsafe"

	vk "github.com/vulkan-go/vulkan"

	"tvmgo/internal/dl"
	"tvmgo/internal/kernels"
	"tvmgo/internal/sorting"
	"tvmgo/runtime"
)

// found is a physical device, before it is opened.
type found struct {
	id     vk.PhysicalDevice
	name   string
	kind   vk.PhysicalDeviceType
	family C.vk_family
	staged bool // the host never accesses its memory directly
}

// instance is created once and never destroyed, because threads that drivers start would lose their code.
var instance struct {
	handle    C.VkInstance
	version   C.uint32_t
	validated C.int
}

// tvmgoVulkanStart enumerates the devices. The core calls it under a lock, and not again after it has succeeded.
//
//export tvmgoVulkanStart
func tvmgoVulkanStart() C.int { return guard(start) }

// guard runs f for a caller in C and raises its error or panic.
func guard(f func() error) C.int { return C.int(kernels.Guard(f)) }

func unavailable(format string, args ...any) error {
	return runtime.Errorf(runtime.ErrDeviceUnavailable, format, args...)
}

// codeText returns a result code of Vulkan with its name, for messages.
func codeText(code C.VkResult) string {
	return fmt.Sprintf("%s (%d)", C.GoString(C.tvmgo_vk_code_name(code)), int(code))
}

func start() error {
	if err := dl.Vulkan(); err != nil {
		return unavailable("%v", err)
	}
	if err := makeInstance(); err != nil {
		return err
	}
	list, left, err := findDevices()
	if err != nil {
		return err
	}
	report := Driver{Version: version(uint32(instance.version)), Validated: instance.validated != 0}
	for _, d := range list {
		if C.tvmgo_vk_num_devices == C.TVMGO_MAX_DEVICES {
			break
		}
		if err := open(d); err != nil {
			left = append(left, err.Error())
			continue
		}
		report.Devices = append(report.Devices, describe(C.tvmgo_vk_num_devices-1))
	}
	report.LeftOut = append(left, brokenDrivers()...)
	if len(report.Devices) == 0 {
		return unavailable("%s was opened, but reports no usable device: %s: install a driver for the device (Debian: "+
			"mesa-vulkan-drivers has one for CPUs)",
			dl.VulkanPath(), strings.Join(report.LeftOut, "; "))
	}
	loaded.Store(&report)
	return nil
}

// wanted reports whether an environment variable is set to something other than 0.
func wanted(variable string) bool {
	v := os.Getenv(variable)
	return v != "" && v != "0"
}

func makeInstance() error {
	if instance.handle != nil {
		return nil
	}
	vk.SetGetInstanceProcAddr(C.tvmgo_vk_loader())
	if err := vk.Init(); err != nil {
		return unavailable("%s: %v", dl.VulkanPath(), err)
	}
	validate := wanted("TVM_VULKAN_ENABLE_VALIDATION_LAYERS") || wanted("TVMGO_VULKAN_VALIDATION")
	var lacks *C.char
	rc := C.tvmgo_vk_instance_create(flag(validate), &instance.handle, &instance.version, &instance.validated, &lacks)
	if rc == C.VK_SUCCESS {
		err := vk.InitInstance(vk.Instance(unsafe.Pointer(instance.handle)))
		if err == nil {
			return nil
		}
		instance.handle = nil
		return unavailable("%s: %v", dl.VulkanPath(), err)
	}
	instance.handle = nil // the next call tries again
	if lacks != nil {
		return unavailable("%s has no function %s: install a loader of Vulkan 1.1 or newer (Debian: libvulkan1)",
			dl.VulkanPath(), C.GoString(lacks))
	}
	if rc == C.VK_ERROR_LAYER_NOT_PRESENT {
		return unavailable("validation is enabled, but the layer VK_LAYER_KHRONOS_validation is not installed (Debian: " +
			"vulkan-validationlayers)")
	}
	return noDriver(codeText(rc))
}

func flag(on bool) C.int {
	if on {
		return 1
	}
	return 0
}

// findDevices returns the usable physical devices in the order of their numbers, and the reasons why the others are not
// used.
func findDevices() (list []found, left []string, err error) {
	h := vk.Instance(unsafe.Pointer(instance.handle))
	var n uint32
	rc := vk.EnumeratePhysicalDevices(h, &n, nil)
	ids := make([]vk.PhysicalDevice, n)
	if rc == vk.Success && n > 0 {
		rc = vk.EnumeratePhysicalDevices(h, &n, ids)
	}
	if rc != vk.Success || n == 0 {
		return nil, nil, noDriver(codeText(C.VkResult(rc)))
	}
	for _, id := range ids[:n] {
		d := found{id: id}
		var p vk.PhysicalDeviceProperties
		vk.GetPhysicalDeviceProperties(id, &p)
		p.Deref()
		d.name, d.kind = vk.ToString(p.DeviceName[:]), p.DeviceType
		p.Free()
		switch {
		case p.ApiVersion < uint32(C.VK_API_VERSION_1_1):
			left = append(left, fmt.Sprintf("%s supports Vulkan %s, but 1.1 is required", d.name, version(p.ApiVersion)))
		case C.tvmgo_vk_family(C.VkPhysicalDevice(unsafe.Pointer(id)), &d.family) != 0:
			left = append(left, d.name+" has no compute queue")
		default:
			list = append(list, d)
		}
	}
	sorting.By(list, func(a, b found) int { return cmp.Compare(rank(a.kind), rank(b.kind)) })
	if wanted("TVMGO_VULKAN_DEVICE_TWICE") {
		for _, d := range slices.Clone(list) {
			d.staged = true
			list = append(list, d)
		}
	}
	return list, left, nil
}

// rank returns the position of a device type in the order of device numbers (docs/abi.md E.2).
func rank(kind vk.PhysicalDeviceType) int {
	order := []vk.PhysicalDeviceType{vk.PhysicalDeviceTypeDiscreteGpu, vk.PhysicalDeviceTypeIntegratedGpu,
		vk.PhysicalDeviceTypeVirtualGpu, vk.PhysicalDeviceTypeCpu}
	if i := slices.Index(order, kind); i >= 0 {
		return i
	}
	return len(order)
}

// open creates the logical device, in C.
func open(d found) error {
	var why *C.char
	rc := C.tvmgo_vk_add_device(C.VkPhysicalDevice(unsafe.Pointer(d.id)), &d.family, instance.version, flag(d.staged),
		&why)
	switch {
	case rc == C.VK_SUCCESS:
		return nil
	case why != nil:
		return fmt.Errorf("%s: %s: %s", d.name, C.GoString(why), codeText(rc))
	default:
		return fmt.Errorf("%s: %s", d.name, codeText(rc))
	}
}

// describe returns a line about an open device: its name, driver, version and memory type.
func describe(i C.int32_t) string {
	d := C.tvmgo_vk_device(i)
	var text [128]C.char
	memory := C.GoString(C.tvmgo_vk_type_text(&d.memory, d.data_type, &text[0], C.size_t(len(text))))
	return fmt.Sprintf("%s (%s %s, Vulkan %s; data in memory of %s)", C.GoString(&d.properties.deviceName[0]),
		C.GoString(&d.driver_name[0]), C.GoString(&d.driver_info[0]), version(uint32(d.api_version)), memory)
}

// messages returns the stored messages of the validation layer.
func messages() []string {
	var list []string
	for i := range C.tvmgo_vk_num_messages() {
		if m := C.GoString(C.tvmgo_vk_message(i)); m != "" {
			list = append(list, m)
		}
	}
	return list
}
