package dl

/*
#include "dl.h"
*/
import "C"

// Vulkan opens the Vulkan loader. An error is a *MissingError.
func Vulkan() error { return open(&C.tvmgo_dl_vulkan) }

// VulkanPath returns the path of the loader's file; "" when it is not open.
func VulkanPath() string { return path(&C.tvmgo_dl_vulkan) }
