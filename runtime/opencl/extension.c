//go:build opencl

/* Properties of a device that extensions of OpenCL report. Numbers and structures are those of the extensions. */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  REGISTERS_PER_BLOCK_NV = 0x4002, /* cl_nv_device_attribute_query */
  WARP_SIZE_NV = 0x4003,
  PCI_BUS_ID_NV = 0x4008,
  PCI_SLOT_ID_NV = 0x4009, /* device << 3 | function */
  PCI_DOMAIN_ID_NV = 0x400A,
  TOPOLOGY_AMD = 0x4037, /* cl_amd_device_attribute_query */
  WAVEFRONT_WIDTH_AMD = 0x4043,
  SUB_GROUP_SIZES_INTEL = 0x4108, /* cl_intel_required_subgroup_size */
  PCI_BUS_INFO_KHR = 0x410F,      /* cl_khr_pci_bus_info */
  UUID_KHR = 0x106A,              /* cl_khr_device_uuid */
};

/* Whether the device has an extension. */
static int has(const cl_device* d, const char* extension) {
  size_t size = 0, n = strlen(extension);
  if (clGetDeviceInfo(d->id, CL_DEVICE_EXTENSIONS, 0, NULL, &size) != CL_SUCCESS || size == 0) return 0;
  char* all = calloc(size + 1, 1);
  int found = 0;
  if (all != NULL && clGetDeviceInfo(d->id, CL_DEVICE_EXTENSIONS, size, all, NULL) == CL_SUCCESS)
    for (const char* at = all; !found && (at = strstr(at, extension)) != NULL; at += n)
      found = (at == all || at[-1] == ' ') && (at[n] == ' ' || at[n] == 0);
  free(all);
  return found;
}

/* Queries a property of an extension. Drivers may announce an extension of which they lack a query: then it is 0. */
static int query(const cl_device* d, cl_device_info what, void* value, size_t size) {
  size_t got = 0;
  return clGetDeviceInfo(d->id, what, size, value, &got) == CL_SUCCESS && got == size;
}

static int64_t subgroup_size(const cl_device* d) {
  cl_uint width = 0;
  size_t sizes[16];
  size_t bytes = 0;
  if (has(d, "cl_nv_device_attribute_query") && query(d, WARP_SIZE_NV, &width, sizeof width)) return width;
  if (has(d, "cl_amd_device_attribute_query") && query(d, WAVEFRONT_WIDTH_AMD, &width, sizeof width)) return width;
  if (!has(d, "cl_intel_required_subgroup_size") ||
      clGetDeviceInfo(d->id, SUB_GROUP_SIZES_INTEL, sizeof sizes, sizes, &bytes) != CL_SUCCESS ||
      bytes != sizeof *sizes) /* with several sizes, the compiler selects one for each kernel */
    return 0;
  return (int64_t)sizes[0];
}

static int pci_bus_id(const cl_device* d, char* buf, size_t cap) {
  cl_uint khr[4], domain = 0, bus = 0, slot = 0; /* khr: domain, bus, device, function */
  struct {
    cl_uint type; /* 1: PCIe */
    signed char unused[17], bus, device, function;
  } amd;
  if (has(d, "cl_khr_pci_bus_info") && query(d, PCI_BUS_INFO_KHR, khr, sizeof khr)) {
    snprintf(buf, cap, "%04x:%02x:%02x.%x", khr[0], khr[1], khr[2], khr[3]);
    return 1;
  }
  if (has(d, "cl_nv_device_attribute_query") && query(d, PCI_BUS_ID_NV, &bus, sizeof bus) &&
      query(d, PCI_SLOT_ID_NV, &slot, sizeof slot)) {
    query(d, PCI_DOMAIN_ID_NV, &domain, sizeof domain); /* older drivers do not have it */
    snprintf(buf, cap, "%04x:%02x:%02x.%x", domain, bus, slot >> 3, slot & 7);
    return 1;
  }
  if (has(d, "cl_amd_device_attribute_query") && query(d, TOPOLOGY_AMD, &amd, sizeof amd) && amd.type == 1) {
    snprintf(buf, cap, "0000:%02x:%02x.%x", (unsigned char)amd.bus, (unsigned char)amd.device,
             (unsigned char)amd.function);
    return 1;
  }
  return 0;
}

int tvmgo_cl_extension_property(const cl_device* d, const char* name, TVMFFIAny* out) {
  char buf[64];
  if (strcmp(name, "subgroup_size") == 0) {
    int64_t size = subgroup_size(d);
    if (size > 0) *out = tvmgo_any_int(size);
  } else if (strcmp(name, "registers_per_block") == 0) {
    cl_uint n = 0;
    if (has(d, "cl_nv_device_attribute_query") && query(d, REGISTERS_PER_BLOCK_NV, &n, sizeof n) && n > 0)
      *out = tvmgo_any_int(n);
  } else if (strcmp(name, "pci_bus_id") == 0) {
    if (pci_bus_id(d, buf, sizeof buf)) return tvmgo_text_value(buf, out);
  } else if (strcmp(name, "uuid") == 0) {
    unsigned char id[16];
    if (has(d, "cl_khr_device_uuid") && query(d, UUID_KHR, id, sizeof id))
      return tvmgo_text_value(tvmgo_uuid_text(id, buf, sizeof buf), out);
  }
  return 0;
}
