/* Part of tvmgo/tvmgo.hpp: Module. The functions that describe it are defined in tvmgo/call.hpp. */
#ifndef TVMGO_MODULE_HPP_
#define TVMGO_MODULE_HPP_

#include <tvm/runtime/c_runtime_api.h>
#include <tvmgo/error.hpp>
#include <tvmgo/function.hpp>
#include <tvmgo/ref.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tvmgo {

/* A loaded module. Its functions keep it alive. */
class Module : public detail::Ref<TVMModuleHandle, kTVMModuleHandle> {
 public:
  Module() noexcept = default;
  /* Takes ownership of a reference. */
  static Module take(TVMModuleHandle owned) noexcept { return Module(owned); }

  /* Loads a file. The default format is the suffix after the last '.'. Fails if the file does not exist or is damaged,
   * or if there is no loader for the format. */
  static Module load(const std::string& path, const std::string& format = "") {
    TVMModuleHandle out = nullptr;
    detail::check(TVMModLoadFromFile(detail::c_text(path, "a file's name"), detail::c_text(format, "a format"), &out));
    return Module(out);
  }

  /* Looks up a function; with `imports` also in the imported modules, depth first. If there is none, find returns
   * std::nullopt, and get fails. */
  std::optional<Function> find(const std::string& name, bool imports = false) const {
    TVMFunctionHandle out = nullptr;
    detail::check(TVMModGetFunction(need(), detail::c_text(name, "a function's name"), imports, &out));
    if (out == nullptr) return std::nullopt;
    return Function::take(out);
  }
  Function get(const std::string& name, bool imports = false) const {
    if (auto f = find(name, imports)) return *std::move(f);
    throw Error("NotFoundError",
        "get function of module: there is none named \"" + name + "\": `tvmgo inspect` lists what a file has");
  }

  /* Appends `other` to the imports. No other thread may use this module during the call. Fails if `other` imports this
   * module, directly or indirectly. */
  void import_module(const Module& other) const { detail::check(TVMModImport(need(), other.need())); }
  std::vector<Module> imports() const;
  /* The names of its functions, sorted; with `imports` also those of the imported modules. Empty if modules of its kind
   * cannot list them. */
  std::vector<std::string> functions(bool imports = false) const;
  /* What the module is: "library", "cuda", … */
  std::string kind() const;
  /* The source code in this format, or in the default format of the kind. Fails if the module has no source. */
  std::string source(const std::string& format = "") const;

 private:
  explicit Module(TVMModuleHandle owned) noexcept : Ref(owned) {}
  TVMModuleHandle need() const {
    if (handle() == nullptr) throw Error("ValueError", "the Module is empty: it was moved from, or never set");
    return handle();
  }
};

}  // namespace tvmgo

#endif  // TVMGO_MODULE_HPP_
