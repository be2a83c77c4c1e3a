/* The result of ffi.GetGlobalFuncMetadata for built-in functions: the types of arguments and result, in the JSON form
 * of Apache TVM's libraries. It is written on first use. */
#include "call/builtin.h"
#include "object/text.h"

#include <string.h>

/* "(arguments) -> result" for functions that tvm-ffi has, "<result, arguments>" for those of TVM's
 * runtime, which describes them in an older form. Functions that are not in the table take any arguments. */
static const struct {
  const char *name, *signature;
} signatures[] = {
    {"ffi.ArrayContains", "(ffi.Array, Any) -> bool"},
    {"ffi.ArrayGetItem", "(ffi.Array, int) -> Any"},
    {"ffi.ArraySize", "(ffi.Array) -> int"},
    {"ffi.Bytes", "(ffi.Bytes) -> ffi.Bytes"},
    {"ffi.ContainerFindFirstNonCPUDevice", "(Any) -> Device"},
    {"ffi.DeepCopy", "(Any) -> Any"},
    {"ffi.DictClear", "(ffi.Dict<Any, Any>) -> None"},
    {"ffi.DictCount", "(ffi.Dict, Any) -> int"},
    {"ffi.DictErase", "(ffi.Dict<Any, Any>, Any) -> None"},
    {"ffi.DictForwardIterFunctor", "(ffi.Dict) -> ffi.Function"},
    {"ffi.DictGetItem", "(ffi.Dict, Any) -> Any"},
    {"ffi.DictGetItemOrMissing", "(ffi.Dict, Any) -> Any"},
    {"ffi.DictSetItem", "(ffi.Dict<Any, Any>, Any, Any) -> None"},
    {"ffi.DictSize", "(ffi.Dict) -> int"},
    {"ffi.FromJSONGraph", "(Any) -> Any"},
    {"ffi.FromJSONGraphString", "(ffi.String) -> Any"},
    {"ffi.FunctionFromExternC", "(void*, void*, void*) -> ffi.Function"},
    {"ffi.FunctionListGlobalNamesFunctor", "() -> ffi.Function"},
    {"ffi.FunctionRemoveGlobal", "(ffi.String) -> bool"},
    {"ffi.GetFirstStructuralMismatch",
     "(Any, Any, bool, bool) -> Optional<Tuple<ffi.reflection.AccessPath, ffi.reflection.AccessPath>>"},
    {"ffi.GetGlobalFuncMetadata", "(ffi.String) -> ffi.String"},
    {"ffi.GetInvalidObject", "() -> ffi.Object"},
    {"ffi.GetKwargsObject", "() -> ffi.Object"},
    {"ffi.GetRegisteredTypeKeys", "() -> ffi.Array<ffi.String>"},
    {"ffi.ListAppend", "(ffi.List<Any>, Any) -> None"},
    {"ffi.ListClear", "(ffi.List<Any>) -> None"},
    {"ffi.ListContains", "(ffi.List, Any) -> bool"},
    {"ffi.ListErase", "(ffi.List<Any>, int) -> None"},
    {"ffi.ListEraseRange", "(ffi.List<Any>, int, int) -> None"},
    {"ffi.ListGetItem", "(ffi.List, int) -> Any"},
    {"ffi.ListInsert", "(ffi.List<Any>, int, Any) -> None"},
    {"ffi.ListPop", "(ffi.List<Any>, int) -> Any"},
    {"ffi.ListReplaceSlice", "(ffi.List<Any>, int, int, ffi.List<Any>) -> None"},
    {"ffi.ListReserve", "(ffi.List<Any>, int) -> None"},
    {"ffi.ListReverse", "(ffi.List<Any>) -> None"},
    {"ffi.ListSetItem", "(ffi.List<Any>, int, Any) -> None"},
    {"ffi.ListSize", "(ffi.List) -> int"},
    {"ffi.MakeFieldGetter", "(int) -> int"},
    {"ffi.MakeFieldSetter", "(int, int, int) -> ffi.Function"},
    {"ffi.MapCount", "(ffi.Map, Any) -> int"},
    {"ffi.MapForwardIterFunctor", "(ffi.Map) -> ffi.Function"},
    {"ffi.MapGetItem", "(ffi.Map, Any) -> Any"},
    {"ffi.MapGetItemOrMissing", "(ffi.Map, Any) -> Any"},
    {"ffi.MapSize", "(ffi.Map) -> int"},
    {"ffi.Module.load_from_file.so", "(ffi.String, ffi.String) -> ffi.Module"},
    {"ffi.ModuleClearImports", "(ffi.Module) -> None"},
    {"ffi.ModuleGetFunction", "(ffi.Module, ffi.String, bool) -> Optional<ffi.Function>"},
    {"ffi.ModuleGetFunctionDoc", "(ffi.Module, ffi.String, bool) -> Optional<ffi.String>"},
    {"ffi.ModuleGetFunctionMetadata", "(ffi.Module, ffi.String, bool) -> Optional<ffi.String>"},
    {"ffi.ModuleGetKind", "(ffi.Module) -> ffi.String"},
    {"ffi.ModuleGetPropertyMask", "(ffi.Module) -> int"},
    {"ffi.ModuleGetWriteFormats", "(ffi.Module) -> ffi.Array<ffi.String>"},
    {"ffi.ModuleGlobalsAdd", "(ffi.Module) -> None"},
    {"ffi.ModuleGlobalsRemove", "(ffi.Module) -> None"},
    {"ffi.ModuleImplementsFunction", "(ffi.Module, ffi.String, bool) -> bool"},
    {"ffi.ModuleImportModule", "(ffi.Module, ffi.Module) -> None"},
    {"ffi.ModuleInspectSource", "(ffi.Module, ffi.String) -> ffi.String"},
    {"ffi.ModuleLoadFromFile", "(ffi.String) -> ffi.Module"},
    {"ffi.ModuleWriteToFile", "(ffi.Module, ffi.String, ffi.String) -> None"},
    {"ffi.RecursiveEq", "(Any, Any) -> bool"},
    {"ffi.RecursiveGe", "(Any, Any) -> bool"},
    {"ffi.RecursiveGt", "(Any, Any) -> bool"},
    {"ffi.RecursiveHash", "(Any) -> int"},
    {"ffi.RecursiveLe", "(Any, Any) -> bool"},
    {"ffi.RecursiveLt", "(Any, Any) -> bool"},
    {"ffi.ReprPrint", "(Any) -> ffi.String"},
    {"ffi.String", "(ffi.String) -> ffi.String"},
    {"ffi.StructuralEqual", "(Any, Any, bool, bool) -> bool"},
    {"ffi.StructuralHash", "(Any, bool, bool) -> int"},
    {"ffi.StructuralKey", "(Any) -> ffi.StructuralKey"},
    {"ffi.StructuralKeyEqual", "(Any, Any) -> bool"},
    {"ffi.StructuralMap",
     "(Any, ffi.Array<Tuple<int, ffi.Function>>, ffi.Array<Tuple<int, ffi.Function>>, int) -> Any"},
    {"ffi.StructuralMutate", "(Any, ffi.Array<Tuple<int, ffi.Function, bool>>) -> Any"},
    {"ffi.StructuralMutatorDefRegionKind", "(ffi.StructuralMutator) -> int"},
    {"ffi.StructuralMutatorDefaultMutate", "(ffi.StructuralMutator, Any) -> Any"},
    {"ffi.StructuralMutatorMutate", "(ffi.StructuralMutator, Any) -> Any"},
    {"ffi.StructuralMutatorVarRemapGet", "(ffi.StructuralMutator, Any) -> Any"},
    {"ffi.StructuralMutatorVarRemapSet", "(ffi.StructuralMutator, Any, Any) -> None"},
    {"ffi.StructuralMutatorWithDefRegionKind", "(ffi.StructuralMutator, int, ffi.Function) -> Any"},
    {"ffi.StructuralVisit",
     "(Any, ffi.Array<Tuple<int, ffi.Function>>) -> Optional<ffi.VisitInterrupt>"},
    {"ffi.StructuralVisitorDefRegionKind", "(ffi.StructuralVisitor) -> int"},
    {"ffi.StructuralVisitorDefaultVisit",
     "(ffi.StructuralVisitor, Any) -> Optional<ffi.VisitInterrupt>"},
    {"ffi.StructuralVisitorVisit", "(ffi.StructuralVisitor, Any) -> Optional<ffi.VisitInterrupt>"},
    {"ffi.StructuralVisitorWithDefRegionKind", "(ffi.StructuralVisitor, int, ffi.Function) -> Any"},
    {"ffi.StructuralWalk",
     "(Any, ffi.Array<Tuple<int, ffi.Function>>, ffi.Array<Tuple<int, ffi.Function>>, int) -> "
         "Optional<ffi.VisitInterrupt>"},
    {"ffi.ToJSONGraph", "(Any, Any) -> Any"},
    {"ffi.ToJSONGraphString", "(Any, Any) -> ffi.String"},
    {"ffi.VisitErrorContext.FindAccessPaths",
     "(ffi.Object, ffi.VisitErrorContext, bool) -> ffi.Array<ffi.reflection.AccessPath>"},
    {"ffi.VisitInterrupt", "(Any) -> ffi.VisitInterrupt"},
    {"ffi._PyClassRegisterTypeAttrColumns", "(int, int) -> None"},
    {"ffi._RegisterFFIInit", "(int) -> None"},
    {"ffi.json.Parse", "(ffi.String) -> Any"},
    {"ffi.json.Stringify", "(Any, Optional<int>) -> ffi.String"},
    {"ffi.Module.create.const_loader",
     "<ffi.Module, ffi.Map<ffi.String, ffi.Tensor>, ffi.Map<ffi.String, ffi.Array<ffi.String>>>"},
    {"ffi.Module.load_from_bytes.c", "<ffi.Module, ffi.Bytes>"},
    {"ffi.Module.load_from_bytes.const_loader", "<ffi.Module, ffi.Bytes>"},
    {"ffi.Module.load_from_bytes.relax.VMExecutable", "<ffi.Module, ffi.Bytes>"},
    {"ffi.Module.load_from_bytes.static_library", "<ffi.Module, ffi.Bytes>"},
    {"ffi.Module.load_from_file.json", "<ffi.Module, ffi.String>"},
    {"ffi.Module.load_from_file.relax.VMExecutable", "<ffi.Module, ffi.String>"},
    {"runtime.CSourceModuleCreate",
     "<ffi.Module, ffi.String, ffi.String, Optional<ffi.Array<ffi.String>>, Optional<ffi.Array<ffi.String>>>"},
    {"runtime.Device_SetStream", "<None, Device, int>"},
    {"runtime.Device_StreamCreate", "<int, Device>"},
    {"runtime.Device_StreamFree", "<None, Device, int>"},
    {"runtime.Device_StreamSync", "<None, Device, int>"},
    {"runtime.Device_StreamSyncFromTo", "<None, Device, int, int>"},
    {"runtime.LoadParams", "<ffi.Map<ffi.String, ffi.Tensor>, ffi.Bytes>"},
    {"runtime.LoadParamsFromFile", "<ffi.Map<ffi.String, ffi.Tensor>, ffi.String>"},
    {"runtime.ModuleImportsBlobName", "<std::string>"},
    {"runtime.ModuleLoadStaticLibrary", "<ffi.Module, std::string, ffi.Array<ffi.String>>"},
    {"runtime.ModulePackImportsToC", "<std::string, ffi.Module, bool, std::string>"},
    {"runtime.ModulePackImportsToLLVM", "<ffi.Module, ffi.Module, bool, std::string, std::string>"},
    {"runtime.ModulePackImportsToTensor", "<ffi.Tensor, ffi.Module>"},
    {"runtime.NumThreads", "<int>"},
    {"runtime.RuntimeEnabled", "<bool, ffi.String>"},
    {"runtime.SaveParams", "<ffi.Bytes, ffi.Map<ffi.String, ffi.Tensor>>"},
    {"runtime.SaveParamsToFile", "<None, ffi.Map<ffi.String, ffi.Tensor>, ffi.String>"},
    {"runtime.TVMSetStream", "<None, int, int, void*>"},
    {"runtime.TVMTensorAllocWithScope",
     "<ffi.Tensor, ffi.Shape, DataType, Device, Optional<ffi.String>>"},
    {"runtime.TVMTensorCopyFromBytes", "<None, DLTensor*, void*, int>"},
    {"runtime.TVMTensorCopyFromTo", "<None, DLTensor*, DLTensor*>"},
    {"runtime.TVMTensorCopyToBytes", "<None, DLTensor*, void*, int>"},
    {"runtime.TVMTensorCreateView", "<ffi.Tensor, ffi.Tensor, ffi.Shape, DataType, int>"},
    {"runtime.TVMTensorIsStorageShared", "<bool, ffi.Tensor, ffi.Tensor>"},
    {"target.ListTargetKindOptions", "<ffi.Map<ffi.String, ffi.String>, target.TargetKind>"},
    {"target.ListTargetKindOptionsFromName", "<ffi.Map<ffi.String, ffi.String>, ffi.String>"},
    {"target.ListTargetKinds", "<ffi.Array<ffi.String>>"},
    {"target.TargetAsJSON", "<ffi.String, target.Target>"},
    {"target.TargetCurrent", "<target.Target, bool>"},
    {"target.TargetEnterScope", "<None, target.Target>"},
    {"target.TargetExitScope", "<None, target.Target>"},
    {"target.TargetExport", "<ffi.Map<ffi.String, Any>, target.Target>"},
    {"target.TargetGetDeviceType", "<int, target.Target>"},
    {"target.TargetGetFeature", "<Any, target.Target, ffi.String>"},
    {"target.TargetKindGetAttr", "<Any, target.TargetKind, ffi.String>"},
    {"target.TargetTagAddTag", "<target.Target, ffi.String, ffi.Map<ffi.String, Any>, bool>"},
    {"target.TargetTagListTags", "<ffi.Map<ffi.String, target.Target>>"},
    {"target.WithHost", "<target.Target, target.Target, target.Target>"},
    {"tvmgo.load_model", "(Any, Optional<ffi.Array<Device>>, Any) -> ffi.Module"},
    {"tvmgo.profile.start", "() -> None"},
    {"vm.builtin.alloc_shape_heap", "<ffi.Tensor, void*, int>"},
    {"vm.builtin.alloc_storage", "<vm.Storage, void*, ffi.Shape, int, DataType, ffi.String>"},
    {"vm.builtin.check_func_info", "<None, ffi.Object, Optional<ffi.String>>"},
    {"vm.builtin.check_prim_value_info", "<None, Any, DataType, Optional<ffi.String>>"},
    {"vm.builtin.check_shape_info", "<None, ffi.Object, int, Optional<ffi.String>>"},
    {"vm.builtin.check_string_info", "<None, Any, Optional<ffi.String>>"},
    {"vm.builtin.check_tuple_info", "<None, ffi.Object, int, Optional<ffi.String>>"},
    {"vm.builtin.copy", "<Any, Any>"},
    {"vm.builtin.ensure_zero_offset", "<ffi.Tensor, ffi.Tensor>"},
    {"vm.builtin.make_prim_value", "<int, DLTensor*, int, int>"},
    {"vm.builtin.match_prim_value", "<None, int, DLTensor*, int, int, Optional<ffi.String>>"},
    {"vm.builtin.memory_manager.clear", "<None>"},
    {"vm.builtin.null_value", "<None>"},
    {"vm.builtin.param_array_from_cache", "<ffi.Array<ffi.Tensor>, ffi.String, int>"},
    {"vm.builtin.param_array_from_cache_by_name", "<ffi.Array<ffi.Tensor>, ffi.Array<ffi.String>>"},
    {"vm.builtin.param_module_from_cache", "<ffi.Module, std::string, int>"},
    {"vm.builtin.param_module_from_cache_by_name", "<ffi.Module, ffi.Array<ffi.String>>"},
    {"vm.builtin.read_if_cond", "<bool, Any>"},
    {"vm.builtin.reshape", "<ffi.Tensor, Any, ffi.Shape>"},
    {"vm.builtin.shape_of", "<ffi.Shape, Any>"},
    {"vm.builtin.tensor_cache.clear", "<None>"},
    {"vm.builtin.tensor_cache.get", "<Optional<ffi.Tensor>, ffi.String>"},
    {"vm.builtin.tensor_cache.load", "<None, std::string, int, int>"},
    {"vm.builtin.tensor_cache.remove", "<None, ffi.String>"},
    {"vm.builtin.tensor_to_shape", "<ffi.Shape, ffi.Tensor>"},
    {"vm.builtin.tuple_getitem", "<Any, ffi.Array<Any>, int>"},
    {"vm.builtin.tuple_reset_item", "<None, ffi.Array, int>"},
};

/* Types up to a closing bracket, separated by commas: NAME or NAME<TYPE, ...>. Returns the end. */
static const char* put_types(tvmgo_text* t, const char* s) {
  for (;;) {
    size_t n = strcspn(s, "<,>)");
    if (n > 0) {
      tvmgo_text_put(t, "{\\\"type\\\":\\\"");
      tvmgo_text_add(t, s, n);
      tvmgo_text_put(t, "\\\"");
      s += n;
      if (*s == '<') {
        tvmgo_text_put(t, ",\\\"args\\\":[");
        s = put_types(t, s + 1) + 1;
        tvmgo_text_put(t, "]");
      }
      tvmgo_text_put(t, "}");
    }
    if (*s != ',') return s;
    tvmgo_text_put(t, ",");
    s += 2;
  }
}

static void put_signature(tvmgo_text* t, const char* s) {
  if (*s == '<') {
    tvmgo_text_put(t, ",\\\"args\\\":[");
    put_types(t, s + 1);
    tvmgo_text_put(t, "]");
  } else if (*s == '(') {
    tvmgo_text_put(t, ",\\\"named_args\\\":{\\\"return\\\":[");
    put_types(t, strstr(s, ") -> ") + 5);
    tvmgo_text_put(t, "],\\\"params\\\":[");
    put_types(t, s + 1);
    tvmgo_text_put(t, "]}");
  }
}

int tvmgo_builtin_metadata(const char* name, size_t len, TVMFFIAny* out) {
  tvmgo_text t = {0};
  const char* signature = "";
  for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++)
    if (strlen(signatures[i].name) == len && memcmp(signatures[i].name, name, len) == 0)
      signature = signatures[i].signature;
  tvmgo_text_put(&t, "{\"type_schema\":\"{\\\"type\\\":\\\"ffi.Function\\\"");
  put_signature(&t, signature);
  tvmgo_text_put(&t, "}\"}");
  int rc = tvmgo_text_string(&t, 0, out);
  tvmgo_text_free(&t);
  return rc;
}
