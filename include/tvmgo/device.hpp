/* Part of tvmgo/tvmgo.hpp: Device, a type of device and an index. */
#ifndef TVMGO_DEVICE_HPP_
#define TVMGO_DEVICE_HPP_

#include <dlpack/dlpack.h>
#include <tvm/runtime/c_runtime_api.h>
#include <tvmgo/data_type.hpp>
#include <tvmgo/error.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace tvmgo {

class Value;

namespace detail {

/* Names of device types. If a type has several names, Device::str returns the first one. */
inline constexpr Name device_names[] = {
    {kDLCPU, "cpu"},           {kDLCUDA, "cuda"},         {kDLCUDAHost, "cuda_host"},       {kDLOpenCL, "opencl"},
    {kDLVulkan, "vulkan"},     {kDLMetal, "metal"},       {kDLVPI, "vpi"},                  {kDLROCM, "rocm"},
    {kDLROCMHost, "rocm_host"}, {kDLExtDev, "ext_dev"},   {kDLCUDAManaged, "cuda_managed"}, {kDLOneAPI, "oneapi"},
    {kDLWebGPU, "webgpu"},     {kDLHexagon, "hexagon"},   {kDLMAIA, "maia"},                {kDLTrn, "trn"},
    {kDLAOCL, "aocl"},         {kOpenGL, "opengl"},       {kDLMicroDev, "microdev"},        {kDLCPU, "llvm"},
    {kDLCPU, "c"},             {kDLCUDA, "nvptx"},        {kDLOpenCL, "cl"},                {kDLMetal, "mps"},
    {kDLWebGPU, "wgpu"},
};

}  // namespace detail

/* A device: a plain value with a type and an index, which converts to and from DLDevice. It need not exist. */
class Device {
 public:
  constexpr Device(DLDevice device) noexcept : device_(device) {}
  static constexpr Device cpu() noexcept { return of(kDLCPU, 0); }
  static constexpr Device cuda(int id = 0) noexcept { return of(kDLCUDA, id); }
  static constexpr Device opencl(int id = 0) noexcept { return of(kDLOpenCL, id); }
  static constexpr Device vulkan(int id = 0) noexcept { return of(kDLVulkan, id); }
  static constexpr Device metal(int id = 0) noexcept { return of(kDLMetal, id); }
  static constexpr Device rocm(int id = 0) noexcept { return of(kDLROCM, id); }
  /* Any type, including one that a program registered (tvmgo/device_api.h). */
  static constexpr Device of(int type, int id) noexcept { return DLDevice{static_cast<DLDeviceType>(type), id}; }

  /* Parses "cpu", "cuda:1", "cl:0", or the number of a type, as in "20:0". */
  static Device parse(std::string_view text) {
    auto fail = [&](const std::string& why) -> Error {
      return Error("ValueError", "parse device \"" + std::string(text) + "\": " + why);
    };
    std::size_t colon = text.find(':');
    std::string_view name = text.substr(0, colon), index;
    long id = 0;
    if (colon != text.npos) {
      index = text.substr(colon + 1);
      id = detail::cut_number(&index, std::numeric_limits<std::int32_t>::max());
      if (id < 0 || !index.empty()) throw fail("after the colon comes an index, as in \"cuda:1\"");
    }
    for (const auto& known : detail::device_names)
      if (name == known.text) return of(known.number, static_cast<int>(id));
    std::string_view rest = name;
    long type = detail::cut_number(&rest, std::numeric_limits<std::int32_t>::max());
    if (type > 0 && rest.empty()) return of(static_cast<int>(type), static_cast<int>(id));
    throw fail("no such type of device: \"cpu\", \"cuda:1\", \"opencl:0\" would be right");
  }

  /* "cuda:1"; a type without a name is written as its number. */
  std::string str() const {
    for (const auto& known : detail::device_names)
      if (known.number == type()) return known.text + (":" + std::to_string(id()));
    return std::to_string(type()) + ":" + std::to_string(id());
  }

  constexpr int type() const noexcept { return device_.device_type; }
  constexpr int id() const noexcept { return device_.device_id; }
  constexpr operator DLDevice() const noexcept { return device_; }

  /* Whether host code can access the memory of this device through a pointer. */
  constexpr bool is_host() const noexcept {
    return device_.device_type == kDLCPU || device_.device_type == kDLCUDAHost || device_.device_type == kDLROCMHost;
  }
  /* Whether the runtime supports this type and finds this device. */
  bool exists() const;
  /* The attribute with this number (TVMGODeviceAttr); none if the device does not report it. Fails if the runtime does
   * not support the type of device. */
  Value attr(int kind) const;
  /* Waits for the work on the default stream. Fails if that work failed. */
  void sync() const { detail::check(TVMSynchronize(type(), id(), nullptr)); }

  friend constexpr bool operator==(Device a, Device b) noexcept { return a.type() == b.type() && a.id() == b.id(); }
  friend constexpr bool operator!=(Device a, Device b) noexcept { return !(a == b); }

 private:
  DLDevice device_;
};

}  // namespace tvmgo

#endif  // TVMGO_DEVICE_HPP_
