/* Code generated from package dlpack; DO NOT EDIT. */
enum { TVMGO_RPC_MASK = 128 };
typedef struct {
  int32_t number;
  const char* name;
  const char* aliases[8];
} device_name;
static const device_name device_names[] = {
    {1, "cpu", {"llvm", "stackvm", "c", "test", "hybrid", "composite", NULL}},
    {2, "cuda", {"nvptx", NULL}},
    {3, "cuda_host", {NULL}},
    {4, "opencl", {"cl", "sdaccel", NULL}},
    {7, "vulkan", {NULL}},
    {8, "metal", {"mps", NULL}},
    {9, "vpi", {NULL}},
    {10, "rocm", {NULL}},
    {11, "rocm_host", {NULL}},
    {12, "ext_dev", {NULL}},
    {13, "cuda_managed", {NULL}},
    {14, "oneapi", {NULL}},
    {15, "webgpu", {"wgpu", NULL}},
    {16, "hexagon", {NULL}},
    {17, "maia", {NULL}},
    {18, "trn", {NULL}},
    {0, NULL, {NULL}},
};
