/* Calls of functions that are values, or that are looked up when the call runs. */
#include "vm/builtins.h"

#include <stdlib.h>
#include <string.h>

/* (closure, captured...): a closure that calls the first one with the captured values behind its own arguments. */
TVMGO_BUILTIN(make_closure) {
  if (tvmgo_check_count(f, n, 1, -1) != 0) return -1;
  if (!tvmgo_vm_is_closure(&args[0]))
    return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: argument 0 must be a closure (relax.vm.Closure), got %s", f,
                       tvmgo_type_name(args[0].type_index));
  return tvmgo_give_new(tvmgo_vm_closure_bind(args[0].v_obj, args + 1, n - 1), result);
}

/* Argument i is a closure or a function. */
static int arg_callable(const char* f, const TVMFFIAny* args, int32_t i) {
  if (args[i].type_index == kTVMFFIFunction || tvmgo_vm_is_closure(&args[i])) return 0;
  return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: argument %d must be a closure or a function, got %s", f, (int)i,
                     tvmgo_type_name(args[i].type_index));
}

/* (machine, closure or function, arguments...) */
TVMGO_BUILTIN(invoke_closure) {
  tvmgo_vm_call* c;
  if (tvmgo_check_count(f, n, 2, -1) != 0 || (c = tvmgo_vm_call_of(f, &args[0])) == NULL ||
      arg_callable(f, args, 1) != 0)
    return -1;
  return tvmgo_vm_call_closure(c, args[1].v_obj, args + 2, n - 2, result);
}

/* ---- CUDA graphs ----
 * The compiler moves a part of a function into a closure that a graph can replace, and its storages into another, so
 * that they have the same addresses each time. Here both closures run each time: the storages come from the pool, and
 * a call shares no memory with the calls of other threads. */

/* (machine, closure that makes storages, number of the entry) */
TVMGO_BUILTIN(get_cached_alloc) {
  tvmgo_vm_call* c;
  int64_t entry;
  if (tvmgo_check_count(f, n, 3, 3) != 0 || (c = tvmgo_vm_call_of(f, &args[0])) == NULL ||
      arg_callable(f, args, 1) != 0 || tvmgo_arg_int(f, args, 2, &entry) != 0)
    return -1;
  return tvmgo_vm_call_closure(c, args[1].v_obj, NULL, 0, result);
}

/* (machine, closure, tuple of its arguments, number of the entry, [shape that the entry is for]) */
TVMGO_BUILTIN(run_or_capture) {
  tvmgo_vm_call* c;
  int64_t entry;
  if (tvmgo_check_count(f, n, 4, 5) != 0 || (c = tvmgo_vm_call_of(f, &args[0])) == NULL ||
      arg_callable(f, args, 1) != 0 || tvmgo_arg_kind(f, args, 2, kTVMFFIArray) != 0 ||
      tvmgo_arg_int(f, args, 3, &entry) != 0)
    return -1;
  const TVMFFISeqCell* tuple = tvmgo_seq_cell(args[2].v_obj);
  return tvmgo_vm_call_closure(c, args[1].v_obj, tuple->data, (int32_t)tuple->size, result);
}

/* (function, tensors..., shape): calls the function with the tensors and the dimensions of the shape. */
TVMGO_BUILTIN(call_tir_dyn) {
  enum { FEW = 32 };
  tvmgo_vm_dims shape;
  TVMFFIAny few[FEW], *list = few;
  if (tvmgo_check_count(f, n, 2, -1) != 0 || tvmgo_arg_kind(f, args, 0, kTVMFFIFunction) != 0 ||
      tvmgo_vm_arg_dims(f, args, n - 1, &shape) != 0)
    return -1;
  int64_t total = n - 2 + shape.size;
  int rc = total > INT32_MAX ? tvmgo_raise(TVMGO_VALUE_ERROR, "%s: the shape has too many dimensions", f) : 0;
  if (rc == 0 && total > FEW && (list = malloc((size_t)total * sizeof *list)) == NULL) rc = tvmgo_raise_oom();
  if (rc == 0) {
    memcpy(list, args + 1, (size_t)(n - 2) * sizeof *list);
    for (int64_t i = 0; i < shape.size; i++) list[n - 2 + i] = tvmgo_any_int(shape.dims[i]);
    rc = tvmgo_function_call(args[0].v_obj, list, (int32_t)total, result);
  }
  if (list != few) free(list);
  tvmgo_object_release(shape.made);
  return rc;
}

/* (None, name, line, values...): calls the global function of this name with the line and the values. The result is
 * None, which stands for the effect of printing. */
TVMGO_BUILTIN(invoke_debug_func) {
  TVMFFIByteArray name;
  if (tvmgo_check_count(f, n, 3, -1) != 0 || tvmgo_arg_text(f, args, 1, &name) != 0) return -1;
  if (args[0].type_index != kTVMFFINone)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: argument 0 stands for an effect and must be None, got %s", f,
                       tvmgo_type_name(args[0].type_index));
  TVMFFIByteArray line;
  if (tvmgo_arg_text(f, args, 2, &line) != 0) return -1;
  TVMFFIObject* debug = tvmgo_global_get(name.data, name.size);
  if (debug == NULL)
    return tvmgo_raise(TVMGO_NOT_FOUND_ERROR,
                       "%s: the program calls the global function \"%.*s\" at %.*s, and there is none: register it", f,
                       tvmgo_quoted(name.size), name.data, tvmgo_quoted(line.size), line.data);
  TVMFFIAny ignored = tvmgo_any_none();
  int rc = tvmgo_function_call(debug, args + 2, n - 2, &ignored);
  if (rc == 0) tvmgo_any_clear(&ignored);
  tvmgo_object_release(debug);
  return rc;
}

__attribute__((constructor(111))) static void register_builtins(void) {
  tvmgo_global_builtin("vm.builtin.make_closure", make_closure);
  tvmgo_global_builtin("vm.builtin.invoke_closure", invoke_closure);
  tvmgo_global_builtin("vm.builtin.cuda_graph.get_cached_alloc", get_cached_alloc);
  tvmgo_global_builtin("vm.builtin.cuda_graph.run_or_capture", run_or_capture);
  tvmgo_global_builtin("vm.builtin.call_tir_dyn", call_tir_dyn);
  tvmgo_global_builtin("vm.builtin.invoke_debug_func", invoke_debug_func);
}
