// Devices, with the properties of an NVIDIA H200.
#include <stdio.h>

#include "fake.h"

device_state devices[MAX_DEVICES];

#define TOTAL_MEMORY 150109880320ull

bool device_ok(const guard *g, int device) {
  if (device >= 0 && device < config.devices) return true;
  report("%s: there is no device %d", g->name, device);
  return false;
}

// Pairs of an attribute's number and the attribute's value.
static const int attributes[][2] = {
    {1, 1024},      {2, 1024},      {3, 1024},    {4, 64},     {5, 2147483647}, {6, 65535}, {7, 65535},    {8, 49152},
    {9, 65536},     {10, 32},       {11, 2147483647}, {12, 65536}, {13, 1980000}, {14, 512}, {15, 1},      {16, 132},
    {17, 0},        {18, 0},        {19, 1},      {20, 0},     {21, 131072},    {22, 131072}, {23, 65536}, {30, 512},
    {31, 1},        {32, 1},        {34, 0},      {35, 0},     {36, 3201000},   {37, 6144}, {38, 62914560}, {39, 2048},
    {40, 3},        {41, 1},        {50, 0},      {51, 32},    {75, 9},         {76, 0},    {78, 1},       {79, 1},
    {80, 1},        {81, 233472},   {82, 65536},  {83, 1},     {84, 0},         {86, 0},    {87, 2},       {88, 0},
    {89, 1},        {90, 1},        {91, 1},      {92, 1},     {93, 1},         {94, 1},    {95, 1},       {96, 1},
    {97, 232448},   {98, 1},        {99, 1},      {100, 0},    {101, 0},        {102, 1},   {103, 1},      {104, 1},
    {105, 1},       {106, 32},      {107, 0},     {108, 39321600}, {109, 134217728}, {110, 1}, {111, 1024}, {112, 1},
    {113, 1},       {114, 1},       {115, 1},     {116, 1},    {117, 1},        {118, 1},   {119, 9},      {120, 1},
    {121, 1},       {122, 1},       {123, 1},     {124, 1},    {125, 0},        {126, 1},   {127, 1},      {128, 1},
};

int device_attribute(int attribute, int device, bool *known) {
  *known = true;
  if (attribute == 33) return 0x19 + 0x10 * device; // the PCI bus, the only attribute in which devices differ
  if (attribute == 85) return device;
  for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
    if (attributes[i][0] == attribute) return attributes[i][1];
  }
  *known = false;
  return 0;
}

API CUresult cuDeviceGetCount(int *count) {
  ENTER(0);
  if (!count) return CUDA_ERROR_INVALID_VALUE;
  *count = config.devices;
  return CUDA_SUCCESS;
}

API CUresult cuDeviceGet(CUdevice *device, int i) {
  ENTER(0);
  if (!device) return CUDA_ERROR_INVALID_VALUE;
  if (i < 0 || i >= config.devices) return CUDA_ERROR_INVALID_DEVICE; // a valid query, so no report
  *device = i;
  return CUDA_SUCCESS;
}

API CUresult cuDeviceGetName(char *name, int size, CUdevice device) {
  ENTER(0);
  if (!device_ok(&g, device)) return CUDA_ERROR_INVALID_DEVICE;
  if (!name || size < 1) return CUDA_ERROR_INVALID_VALUE;
  snprintf(name, (size_t)size, "NVIDIA H200");
  return CUDA_SUCCESS;
}

API CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device) {
  ENTER(0);
  if (!device_ok(&g, device)) return CUDA_ERROR_INVALID_DEVICE;
  if (!value || attribute < 1) return CUDA_ERROR_INVALID_VALUE;
  bool known;
  int found = device_attribute(attribute, device, &known);
  if (!known) return CUDA_ERROR_INVALID_VALUE;
  *value = found;
  return CUDA_SUCCESS;
}

API CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
  ENTER(0);
  if (!device_ok(&g, device)) return CUDA_ERROR_INVALID_DEVICE;
  if (!bytes) return CUDA_ERROR_INVALID_VALUE;
  *bytes = TOTAL_MEMORY;
  return CUDA_SUCCESS;
}

static CUresult uuid(const guard *g, CUuuid *out, CUdevice device) {
  if (!device_ok(g, device)) return CUDA_ERROR_INVALID_DEVICE;
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  for (int i = 0; i < 16; i++) out->bytes[i] = (char)(0xA0 + i);
  out->bytes[15] = (char)device;
  return CUDA_SUCCESS;
}

API CUresult cuDeviceGetUuid(CUuuid *out, CUdevice device) {
  ENTER(0);
  return uuid(&g, out, device);
}

API CUresult cuDeviceGetUuid_v2(CUuuid *out, CUdevice device) {
  ENTER(0);
  return uuid(&g, out, device);
}

API CUresult cuDeviceGetPCIBusId(char *id, int size, CUdevice device) {
  ENTER(0);
  if (!device_ok(&g, device)) return CUDA_ERROR_INVALID_DEVICE;
  if (!id || size < 13) return CUDA_ERROR_INVALID_VALUE;
  snprintf(id, (size_t)size, "0000:%02X:00.0", 0x19 + 0x10 * device);
  return CUDA_SUCCESS;
}

API CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) {
  ENTER(0);
  if (!device_ok(&g, device) || !device_ok(&g, peer)) return CUDA_ERROR_INVALID_DEVICE;
  if (!can) return CUDA_ERROR_INVALID_VALUE;
  *can = device != peer && !config.no_peer;
  return CUDA_SUCCESS;
}

