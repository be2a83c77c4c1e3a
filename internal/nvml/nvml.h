/* The functions of NVML that this package calls. Types, numbers and names are those of NVIDIA's documentation. */
#pragma once

typedef struct {
  /* required */
  int (*init)(void);
  int (*shutdown)(void);
  int (*by_pci)(const char* address, void** device);
  int (*by_uuid)(const char* uuid, void** device);
  /* NULL if the library does not have it */
  const char* (*error_string)(int code);
  int (*driver_version)(char* text, unsigned length);
  int (*clock)(void* device, int type, unsigned* mhz);
  int (*temperature)(void* device, int sensor, unsigned* celsius);
  int (*power)(void* device, unsigned* milliwatts);
  int (*reasons)(void* device, unsigned long long* bits);
} tvmgo_nvml;

/* Values of a GPU; each has the code of its call. */
typedef struct {
  unsigned sm_mhz, memory_mhz, celsius, milliwatts;
  unsigned long long reasons;
  int codes[5];
} tvmgo_nvml_state;

int tvmgo_nvml_init(const tvmgo_nvml* f);
int tvmgo_nvml_shutdown(const tvmgo_nvml* f);
/* Finds a GPU by its PCI address, else by its UUID; either may be "". Returns the last code. */
int tvmgo_nvml_find(const tvmgo_nvml* f, const char* address, const char* uuid, void** device);
const char* tvmgo_nvml_error(const tvmgo_nvml* f, int code); /* "" if the library has no text */
int tvmgo_nvml_driver(const tvmgo_nvml* f, char* text, unsigned length);
void tvmgo_nvml_read(const tvmgo_nvml* f, void* device, tvmgo_nvml_state* out);
