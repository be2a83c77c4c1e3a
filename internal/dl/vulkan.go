package dl

/*
#include "dl.h"
*/
import "C"

// Vulkan opens the Vulkan loader. A failure is a *MissingError.
func Vulkan() error { return open(&C.tvmgo_dl_vulkan) }

// VulkanPath is the file of the Vulkan loader; "" when it is not open.
func VulkanPath() string { return path(&C.tvmgo_dl_vulkan) }
