#include "nvml.h"

#include <stddef.h>

enum { NOT_FOUND = 6, FUNCTION_NOT_FOUND = 13 };
enum { CLOCK_SM = 1, CLOCK_MEM = 2, TEMPERATURE_GPU = 0 };

int tvmgo_nvml_init(const tvmgo_nvml* f) { return f->init(); }

int tvmgo_nvml_shutdown(const tvmgo_nvml* f) { return f->shutdown(); }

int tvmgo_nvml_find(const tvmgo_nvml* f, const char* address, const char* uuid, void** device) {
  int rc = NOT_FOUND;
  if (*address != 0) rc = f->by_pci(address, device);
  if (rc != 0 && *uuid != 0) rc = f->by_uuid(uuid, device);
  return rc;
}

const char* tvmgo_nvml_error(const tvmgo_nvml* f, int code) {
  const char* text = f->error_string == NULL ? NULL : f->error_string(code);
  return text == NULL ? "" : text;
}

int tvmgo_nvml_driver(const tvmgo_nvml* f, char* text, unsigned length) {
  return f->driver_version == NULL ? FUNCTION_NOT_FOUND : f->driver_version(text, length);
}

void tvmgo_nvml_read(const tvmgo_nvml* f, void* device, tvmgo_nvml_state* out) {
  *out = (tvmgo_nvml_state){0};
  int* rc = out->codes;
  for (int i = 0; i < 5; i++) rc[i] = FUNCTION_NOT_FOUND;
  if (f->clock != NULL) {
    rc[0] = f->clock(device, CLOCK_SM, &out->sm_mhz);
    rc[1] = f->clock(device, CLOCK_MEM, &out->memory_mhz);
  }
  if (f->temperature != NULL) rc[2] = f->temperature(device, TEMPERATURE_GPU, &out->celsius);
  if (f->power != NULL) rc[3] = f->power(device, &out->milliwatts);
  if (f->reasons != NULL) rc[4] = f->reasons(device, &out->reasons);
}
