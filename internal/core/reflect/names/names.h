/* Package names: the global functions of package reflect. Package reflect has their bodies; in a build without it,
 * package reflect/absent has bodies that raise an error. Nothing here needs memory or a lock.
 *
 * Each list has X(identifier, name, body) for a function. */
#pragma once

/* Classes that front ends define, and objects by the names of their fields. */
#define TVMGO_REFLECT_RECORD(X) \
  X(ffi_make_setter, "ffi.MakeFieldSetter", make_setter) \
  X(ffi_make_getter, "ffi.MakeFieldGetter", make_getter) \
  X(ffi_register_init, "ffi._RegisterFFIInit", register_init) \
  X(ffi_register_class, "ffi._PyClassRegisterTypeAttrColumns", register_class) \
  X(ffi_make_object, "ffi.MakeObjectFromPackedArgs", make_object)

/* Text, order, hash, copy and devices of whole values. */
#define TVMGO_REFLECT_RECURSIVE(X) \
  X(ffi_repr_print, "ffi.ReprPrint", repr_print) \
  X(ffi_deep_copy, "ffi.DeepCopy", deep_copy) \
  X(ffi_recursive_hash, "ffi.RecursiveHash", recursive_hash) \
  X(ffi_recursive_eq, "ffi.RecursiveEq", recursive_eq) \
  X(ffi_recursive_lt, "ffi.RecursiveLt", recursive_lt) \
  X(ffi_recursive_le, "ffi.RecursiveLe", recursive_le) \
  X(ffi_recursive_gt, "ffi.RecursiveGt", recursive_gt) \
  X(ffi_recursive_ge, "ffi.RecursiveGe", recursive_ge) \
  X(ffi_first_device, "ffi.ContainerFindFirstNonCPUDevice", first_device)

/* JSON. */
#define TVMGO_REFLECT_JSON(X) \
  X(ffi_json_parse, "ffi.json.Parse", json_parse) \
  X(ffi_json_stringify, "ffi.json.Stringify", json_stringify) \
  X(ffi_to_graph, "ffi.ToJSONGraph", graph_of) \
  X(ffi_to_graph_text, "ffi.ToJSONGraphString", graph_text) \
  X(ffi_from_graph, "ffi.FromJSONGraph", value_of) \
  X(ffi_from_graph_text, "ffi.FromJSONGraphString", value_of_text)

/* Comparison by structure. */
#define TVMGO_REFLECT_STRUCTURAL(X) \
  X(ffi_interrupt, "ffi.VisitInterrupt", interrupt_of) \
  X(ffi_key, "ffi.StructuralKey", key_of) \
  X(ffi_key_equal, "ffi.StructuralKeyEqual", key_equal) \
  X(ffi_equal, "ffi.StructuralEqual", equal) \
  X(ffi_mismatch, "ffi.GetFirstStructuralMismatch", first_mismatch) \
  X(ffi_hash, "ffi.StructuralHash", hash)

/* Visits by structure. */
#define TVMGO_REFLECT_VISIT(X) \
  X(ffi_visit, "ffi.StructuralVisit", structural_visit) \
  X(ffi_walk, "ffi.StructuralWalk", structural_walk) \
  X(ffi_visitor_visit, "ffi.StructuralVisitorVisit", visitor_visit) \
  X(ffi_visitor_default, "ffi.StructuralVisitorDefaultVisit", visitor_default) \
  X(ffi_visitor_region, "ffi.StructuralVisitorDefRegionKind", visitor_region) \
  X(ffi_visitor_with_region, "ffi.StructuralVisitorWithDefRegionKind", visitor_with_region)

/* Where a visit failed. */
#define TVMGO_REFLECT_VISIT_CONTEXT(X) \
  X(ffi_find_paths, "ffi.VisitErrorContext.FindAccessPaths", find_paths)

/* Changes by structure. */
#define TVMGO_REFLECT_MUTATE(X) \
  X(ffi_map, "ffi.StructuralMap", structural_map) \
  X(ffi_mutate, "ffi.StructuralMutate", structural_mutate) \
  X(ffi_mutator_mutate, "ffi.StructuralMutatorMutate", mutator_mutate) \
  X(ffi_mutator_default, "ffi.StructuralMutatorDefaultMutate", mutator_default) \
  X(ffi_mutator_remap_get, "ffi.StructuralMutatorVarRemapGet", mutator_remap_get) \
  X(ffi_mutator_remap_set, "ffi.StructuralMutatorVarRemapSet", mutator_remap_set) \
  X(ffi_mutator_region, "ffi.StructuralMutatorDefRegionKind", mutator_region) \
  X(ffi_mutator_with_region, "ffi.StructuralMutatorWithDefRegionKind", mutator_with_region)

#define TVMGO_REFLECT_ALL(X) \
  TVMGO_REFLECT_RECORD(X) \
  TVMGO_REFLECT_RECURSIVE(X) \
  TVMGO_REFLECT_JSON(X) \
  TVMGO_REFLECT_STRUCTURAL(X) \
  TVMGO_REFLECT_VISIT(X) \
  TVMGO_REFLECT_VISIT_CONTEXT(X) \
  TVMGO_REFLECT_MUTATE(X)
