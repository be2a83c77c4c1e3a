/* The tvm-ffi C ABI, version 0.1.16: counted objects, tagged values, one way to call, one error slot per thread.
 *
 * How this ABI may change
 *   - Names, numbers, sizes and offsets below are frozen: generated code and C++ programs have them compiled in.
 *   - New functions and new enumerators may be appended. An assigned type index keeps its meaning.
 *   - TVMFFIGetVersion never changes; a program that needs a newer function calls it first.
 *   - Every language relies on the 24-byte object header. What a type keeps after its documented cell is private.
 *
 * Conventions, unless a comment says otherwise
 *   - Any thread may call any function. Errors and Python state belong to the calling thread.
 *   - An int result is 0, or -1 with the error in this thread's slot (TVMFFIErrorMoveFromRaised). Other nonzero values
 *     mean that a front end (Python) already holds the error: return them unchanged.
 *   - Arguments are borrowed for the call; what comes back through an `out` pointer belongs to the caller.
 *   - A TVMFFIAny argument is a view. A TVMFFIAny result is owned when its type_index is >=
 *     kTVMFFIStaticObjectBegin. */
#ifndef TVM_FFI_C_API_H_
#define TVM_FFI_C_API_H_

#include <dlpack/dlpack.h>
#include <stdint.h>

/* Weak definition, for data slots that several object files may define. */
#ifdef _MSC_VER
#define TVM_FFI_WEAK __declspec(selectany)
#else
#define TVM_FFI_WEAK __attribute__((weak))
#endif

/* TVM_FFI_DLL marks functions that the runtime exports, TVM_FFI_DLL_EXPORT those that a user's library exports. */
#if !defined(TVM_FFI_DLL) && defined(__EMSCRIPTEN__)
#include <emscripten/emscripten.h>
#define TVM_FFI_DLL EMSCRIPTEN_KEEPALIVE
#define TVM_FFI_DLL_EXPORT EMSCRIPTEN_KEEPALIVE
#endif
#if !defined(TVM_FFI_DLL) && defined(_MSC_VER)
#ifdef TVM_FFI_EXPORTS
#define TVM_FFI_DLL __declspec(dllexport)
#else
#define TVM_FFI_DLL __declspec(dllimport)
#endif
#define TVM_FFI_DLL_EXPORT __declspec(dllexport)
#endif
#ifndef TVM_FFI_DLL
#define TVM_FFI_DLL __attribute__((visibility("default")))
#define TVM_FFI_DLL_EXPORT __attribute__((visibility("default")))
#endif

/* The result depends on nothing but arguments and settled memory: the compiler may merge calls. */
#if defined(__GNUC__) || defined(__clang__)
#define TVM_FFI_ATTRIBUTE_PURE __attribute__((__pure__))
#else
#define TVM_FFI_ATTRIBUTE_PURE
#endif

#define TVM_FFI_VERSION_MAJOR 0
#define TVM_FFI_VERSION_MINOR 1
#define TVM_FFI_VERSION_PATCH 16

/* Local to this header: enums are 32 bits wide in C++ too, and C99 compilers take unnamed unions. */
#ifdef __cplusplus
#define TVM_FFI_ENUM_BASE_ : int32_t
#define TVM_FFI_UNION_ union
#define TVM_FFI_INLINE_ inline
extern "C" {
#else
#define TVM_FFI_ENUM_BASE_
#if defined(__GNUC__) || defined(__clang__)
#define TVM_FFI_UNION_ __extension__ union
#else
#define TVM_FFI_UNION_ union
#endif
#define TVM_FFI_INLINE_ static inline
#endif

typedef struct {
  uint32_t major;
  uint32_t minor;
  uint32_t patch;
} TVMFFIVersion;

/* ---- Types ------------------------------------------------------------------------------------------------------- */

/* What a value is. Below kTVMFFIStaticObjectBegin the value sits in the TVMFFIAny itself; from there on it is a counted
 * object. 7, 8, 9 and 10 occur only in arguments: an owned value never has them, except that a DLTensor* stays what it
 * is. */
enum TVMFFITypeIndex TVM_FFI_ENUM_BASE_ {
  kTVMFFIAny = -1,             /* "any type", in annotations only */
  kTVMFFINone = 0,
  kTVMFFIInt = 1,              /* v_int64 */
  kTVMFFIBool = 2,             /* v_int64, 0 or 1 */
  kTVMFFIFloat = 3,            /* v_float64 */
  kTVMFFIOpaquePtr = 4,        /* v_ptr */
  kTVMFFIDataType = 5,         /* v_dtype */
  kTVMFFIDevice = 6,           /* v_device */
  kTVMFFIDLTensorPtr = 7,      /* v_ptr is a DLTensor* */
  kTVMFFIRawStr = 8,           /* v_c_str, NUL-terminated */
  kTVMFFIByteArrayPtr = 9,     /* v_ptr is a TVMFFIByteArray* */
  kTVMFFIObjectRValueRef = 10, /* v_ptr is a TVMFFIObject**; the callee may take the object and store NULL */
  kTVMFFISmallStr = 11,        /* up to 7 bytes in v_bytes, length in small_str_len */
  kTVMFFISmallBytes = 12,      /* the same for bytes */
  kTVMFFIUnchanged = 13,       /* result of a structural mutator that kept its input; no payload */
  kTVMFFIStaticObjectBegin = 64,
  kTVMFFIObject = 64,
  kTVMFFIStr = 65,             /* header, TVMFFIByteArray */
  kTVMFFIBytes = 66,           /* header, TVMFFIByteArray */
  kTVMFFIError = 67,           /* header, TVMFFIErrorCell */
  kTVMFFIFunction = 68,        /* header, TVMFFIFunctionCell */
  kTVMFFIShape = 69,           /* header, TVMFFIShapeCell */
  kTVMFFITensor = 70,          /* header, DLTensor */
  kTVMFFIArray = 71,           /* header, TVMFFISeqCell; elements are TVMFFIAny */
  kTVMFFIMap = 72,
  kTVMFFIModule = 73,
  kTVMFFIOpaquePyObject = 74,  /* header, TVMFFIOpaqueObjectCell */
  kTVMFFIList = 75,            /* header, TVMFFISeqCell; elements are TVMFFIAny */
  kTVMFFIDict = 76,
  kTVMFFIVisitInterrupt = 77,
  kTVMFFIBigInt = 78,          /* header, size_t word count (>= 2), words; what fits int64 is always kTVMFFIInt */
  kTVMFFIStaticObjectEnd,
  kTVMFFIDynObjectBegin = 128  /* the first index that is assigned at run time */
};
typedef enum TVMFFITypeIndex TVMFFITypeIndex;

/* The address of the header of an object. */
typedef void* TVMFFIObjectHandle;

/* Whether a deleter must destroy the value, free the memory, or both. */
enum TVMFFIObjectDeleterFlagBitMask TVM_FFI_ENUM_BASE_ {
  kTVMFFIObjectDeleterFlagBitMaskStrong = 1 << 0,
  kTVMFFIObjectDeleterFlagBitMaskWeak = 1 << 1,
  kTVMFFIObjectDeleterFlagBitMaskBoth = (kTVMFFIObjectDeleterFlagBitMaskStrong | kTVMFFIObjectDeleterFlagBitMaskWeak)
};
typedef enum TVMFFIObjectDeleterFlagBitMask TVMFFIObjectDeleterFlagBitMask;

/* Header of every object, 24 bytes. A new object has the count 0x0000000100000001: one strong reference (low half) and
 * the one weak reference (high half) that all strong ones share. Adding is relaxed; dropping releases, and acquires
 * before the deleter. */
typedef struct {
  uint64_t combined_ref_count;
  int32_t type_index;
  uint32_t __padding; /* 0 */
  TVM_FFI_UNION_ {
    /* TVMFFIObjectDeleterFlagBitMask; runs on the thread that drops the last reference */
    void (*deleter)(void* self, int flags);
    int64_t __ensure_align;
  };
} TVMFFIObject;

/* A value, 16 bytes. Bytes that a type does not use are 0, so that equal values have equal bytes. */
typedef struct {
  int32_t type_index;
  TVM_FFI_UNION_ {
    uint32_t zero_padding;  /* 0 for everything but the small forms */
    uint32_t small_str_len; /* 0…7 */
  };
  TVM_FFI_UNION_ {
    int64_t v_int64;
    double v_float64;
    void* v_ptr;
    const char* v_c_str;
    TVMFFIObject* v_obj;
    DLDataType v_dtype;
    DLDevice v_device;
    char v_bytes[8]; /* small string with its NUL */
    uint64_t v_uint64;
  };
} TVMFFIAny;

/* Contiguous bytes; strings end with a NUL that size does not include. */
typedef struct {
  const char* data;
  size_t size;
} TVMFFIByteArray;

typedef struct {
  const int64_t* data;
  size_t size;
} TVMFFIShapeCell;

/* Elements of an array or a list. data_deleter(data) frees them if they were allocated separately; it is NULL if they
 * are part of the object. */
typedef struct TVMFFISeqCell {
  void* data;
  int64_t size;
  int64_t capacity;
  void (*data_deleter)(void*);
} TVMFFISeqCell;

enum TVMFFIBacktraceUpdateMode TVM_FFI_ENUM_BASE_ {
  kTVMFFIBacktraceUpdateModeReplace = 0,
  kTVMFFIBacktraceUpdateModeAppend = 1
};
typedef enum TVMFFIBacktraceUpdateMode TVMFFIBacktraceUpdateMode;

/* Contents of an error. kind is a name like Python's ("ValueError"); backtrace has one frame per line, innermost
 * first. */
typedef struct {
  TVMFFIByteArray kind;
  TVMFFIByteArray message;
  TVMFFIByteArray backtrace;
  /* Replaces or extends backtrace (copied). Not to be called while another thread reads the same error. */
  void (*update_backtrace)(TVMFFIObjectHandle self, const TVMFFIByteArray* backtrace, int32_t update_mode);
  TVMFFIObjectHandle cause_chain;   /* the cause of this error, or NULL; owned by the error */
  TVMFFIObjectHandle extra_context; /* any object, or NULL; owned by the error */
} TVMFFIErrorCell;

/* The one way to call. handle is the function object, or NULL for an exported symbol; args are views.
 * The caller presets *result to None and owns what it holds afterwards. 0, -1, or what a front end answered. */
typedef int (*TVMFFISafeCallType)(void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result);

typedef struct {
  TVMFFISafeCallType safe_call;
  void* cpp_call; /* a throwing C++ variant, private to its maker; NULL otherwise. Call safe_call. */
} TVMFFIFunctionCell;

typedef struct {
  void* handle;
} TVMFFIOpaqueObjectCell;

/* ---- Version and objects ----------------------------------------------------------------------------------------- */

/* Writes the version of the loaded library (the macros have the version of the headers). Cannot fail. */
TVM_FFI_DLL void TVMFFIGetVersion(TVMFFIVersion* out_version);

/* Adds a strong reference, which the caller then owns. Fails on NULL. */
TVM_FFI_DLL int TVMFFIObjectIncRef(TVMFFIObjectHandle obj);

/* Drops the caller's strong reference; the last one runs the deleter on this thread. Fails on NULL. */
TVM_FFI_DLL int TVMFFIObjectDecRef(TVMFFIObjectHandle obj);

/* Wraps a front end's handle; deleter(handle) runs once, when the last reference goes, on that thread.
 * Fails on any type_index but kTVMFFIOpaquePyObject; handle then stays the caller's. */
TVM_FFI_DLL int TVMFFIObjectCreateOpaque(void* handle, int32_t type_index, void (*deleter)(void* handle),
                                         TVMFFIObjectHandle* out);

/* Lies directly before an object's body when a custom allocator made it. delete_space(body) frees everything; may be
 * NULL. */
typedef struct {
  void (*delete_space)(void* ptr);
} TVMFFIObjectAllocHeader;

/* Supplies memory for objects: a body of `size` bytes, uninitialised, with a filled TVMFFIObjectAllocHeader before it.
 * Called from any thread, several at a time. NULL with the error raised on failure. */
typedef struct {
  void* (*allocate)(size_t size, size_t alignment, int32_t type_index, void* context);
  void* context; /* passed to allocate */
} TVMFFICustomAllocator;

/* The allocator in force, never NULL; borrowed. Not synchronised with TVMFFISetCustomAllocator. */
TVM_FFI_DLL TVMFFICustomAllocator* TVMFFIGetCustomAllocator(void);

/* Installs an allocator that must live as long as the process; NULL brings the built-in one back.
 * Call it once, before other threads make objects. */
TVM_FFI_DLL int TVMFFISetCustomAllocator(TVMFFICustomAllocator* allocator);

/* The index of a registered type. Fails on an unknown key. */
TVM_FFI_DLL int TVMFFITypeKeyToIndex(const TVMFFIByteArray* type_key, int32_t* out_tindex);

/* ---- Functions --------------------------------------------------------------------------------------------------- */

/* Makes a function object of a C callback. deleter(self) (may be NULL) runs once with the last reference, on that
 * thread. safe_call may be entered by several threads at a time. Fails on NULL safe_call or out. */
TVM_FFI_DLL int TVMFFIFunctionCreate(void* self, TVMFFISafeCallType safe_call, void (*deleter)(void* self),
                                     TVMFFIObjectHandle* out);

/* Looks a global function up: *out is owned, or NULL when there is none (which is not an error). */
TVM_FFI_DLL int TVMFFIFunctionGetGlobal(const TVMFFIByteArray* name, TVMFFIObjectHandle* out);

/* Turns a view into an owned value: strings and bytes are copied, objects retained, an rvalue reference is emptied.
 * *out must hold no object. Fails on an unknown kind of view. */
TVM_FFI_DLL int TVMFFIAnyViewToOwnedAny(const TVMFFIAny* any_view, TVMFFIAny* out);

/* Calls func on this thread (see TVMFFISafeCallType). Fails as func fails. */
TVM_FFI_DLL int TVMFFIFunctionCall(TVMFFIObjectHandle func, TVMFFIAny* args, int32_t num_args, TVMFFIAny* result);

/* ---- Errors: one slot per thread --------------------------------------------------------------------------------- */

/* Moves this thread's error out of its slot; *result is owned, NULL if there is none. */
TVM_FFI_DLL void TVMFFIErrorMoveFromRaised(TVMFFIObjectHandle* result);

/* Puts an error into this thread's slot and retains it; the caller keeps its own reference. Replaces the one before. */
TVM_FFI_DLL void TVMFFIErrorSetRaised(TVMFFIObjectHandle error);

/* The same with an error made of two C strings, which are copied. */
TVM_FFI_DLL void TVMFFIErrorSetRaisedFromCStr(const char* kind, const char* message);

/* The same with a message in parts, which are joined; NULL parts are ignored. */
TVM_FFI_DLL void TVMFFIErrorSetRaisedFromCStrParts(const char* kind, const char** message_parts, int32_t num_parts);

/* Makes an error object; the texts are copied. Does not change this thread's slot, even if it fails (out of memory). */
TVM_FFI_DLL int TVMFFIErrorCreate(const TVMFFIByteArray* kind, const TVMFFIByteArray* message,
                                  const TVMFFIByteArray* backtrace, TVMFFIObjectHandle* out);

/* The same with a cause and a context, both retained, each may be NULL. */
TVM_FFI_DLL int TVMFFIErrorCreateWithCauseAndExtraContext(const TVMFFIByteArray* kind, const TVMFFIByteArray* message,
                                                          const TVMFFIByteArray* backtrace,
                                                          TVMFFIObjectHandle cause_chain,
                                                          TVMFFIObjectHandle extra_context, TVMFFIObjectHandle* out);

/* ---- Tensors ----------------------------------------------------------------------------------------------------- */

/* Makes a tensor from a borrowed array. On success the tensor owns `from`, whose deleter runs with its last reference;
 * on failure the caller still does. require_alignment is in bytes (0: any); fails when the data is less aligned or, on
 * request, not contiguous. */
TVM_FFI_DLL int TVMFFITensorFromDLPack(DLManagedTensor* from, int32_t require_alignment, int32_t require_contiguous,
                                       TVMFFIObjectHandle* out);

/* Exports a tensor: *out keeps it alive until its deleter is called, once, from any thread. */
TVM_FFI_DLL int TVMFFITensorToDLPack(TVMFFIObjectHandle from, DLManagedTensor** out);

/* Like TVMFFITensorFromDLPack for the versioned structure; also fails for another major version. */
TVM_FFI_DLL int TVMFFITensorFromDLPackVersioned(DLManagedTensorVersioned* from, int32_t require_alignment,
                                                int32_t require_contiguous, TVMFFIObjectHandle* out);

/* Like TVMFFITensorToDLPack for the versioned structure. */
TVM_FFI_DLL int TVMFFITensorToDLPackVersioned(TVMFFIObjectHandle from, DLManagedTensorVersioned** out);

/* A tensor with prototype's data, dtype, shape and strides (copied; strides must not be NULL) that keeps source alive.
 * The caller guarantees that the data is inside source; this is not checked. */
TVM_FFI_DLL int TVMFFITensorCreateUnsafeView(TVMFFIObjectHandle source, const DLTensor* prototype,
                                             TVMFFIObjectHandle* out);

/* ---- Strings, bytes, big integers, element types ----------------------------------------------------------------- */

/* An owned string or bytes object with a copy of input, in the small form if it fits. Fails if it is out of memory. */
TVM_FFI_DLL int TVMFFIStringFromByteArray(const TVMFFIByteArray* input, TVMFFIAny* out);
TVM_FFI_DLL int TVMFFIBytesFromByteArray(const TVMFFIByteArray* input, TVMFFIAny* out);

/* An integer from 64-bit words, least significant first, two's complement; becomes kTVMFFIInt when it fits.
 * Fails when input.size is no multiple of 8. */
TVM_FFI_DLL int TVMFFIBigIntFromByteArray(const TVMFFIByteArray* input, TVMFFIAny* out);

/* The words of an Int or BigInt, borrowed from *value: valid until *value is moved or changed. */
TVM_FFI_DLL TVMFFIByteArray TVMFFIBigIntGetContentByteArray(const TVMFFIAny* value);

/* Parses an element type ("float32x4", "bool", "float8_e4m3fn"). Fails if the text is not one. */
TVM_FFI_DLL int TVMFFIDataTypeFromString(const TVMFFIByteArray* str, DLDataType* out);

/* Formats an element type as an owned string. Fails if its code has no name. */
TVM_FFI_DLL int TVMFFIDataTypeToString(const DLDataType* dtype, TVMFFIAny* out);

/* ---- Types and reflection ---------------------------------------------------------------------------------------- */

/* Reads the field at this address into an owned *result. */
typedef int (*TVMFFIFieldGetter)(void* field, TVMFFIAny* result);

/* Writes a borrowed value into the field at this address. */
typedef int (*TVMFFIFieldSetter)(void* field, const TVMFFIAny* value);

/* Makes an empty instance; *result is owned. */
typedef int (*TVMFFIObjectCreator)(TVMFFIObjectHandle* result);

/* Bits of TVMFFIFieldInfo.flags and TVMFFIMethodInfo.flags. */
enum TVMFFIFieldFlagBitMask TVM_FFI_ENUM_BASE_ {
  kTVMFFIFieldFlagBitMaskWritable = 1 << 0,
  kTVMFFIFieldFlagBitMaskHasDefault = 1 << 1,
  kTVMFFIFieldFlagBitMaskIsStaticMethod = 1 << 2,
  kTVMFFIFieldFlagBitMaskSEqHashIgnore = 1 << 3,       /* ignored in structural equality and hash */
  kTVMFFIFieldFlagBitMaskSEqHashDefPattern = 1 << 4,   /* kTVMFFIDefRegionKindPattern begins here */
  kTVMFFIFieldFlagBitMaskDefaultFromFactory = 1 << 5,  /* the default is a function to call without arguments */
  kTVMFFIFieldFlagBitMaskReprOff = 1 << 6,
  kTVMFFIFieldFlagBitMaskCompareOff = 1 << 7,
  kTVMFFIFieldFlagBitMaskHashOff = 1 << 8,
  kTVMFFIFieldFlagBitMaskInitOff = 1 << 9,             /* not a parameter of the generated constructor */
  kTVMFFIFieldFlagBitMaskKwOnly = 1 << 10,             /* a parameter that is passed by keyword only */
  kTVMFFIFieldFlagBitSetterIsFunctionObj = 1 << 11,    /* setter is a function object, called (address, value) */
  kTVMFFIFieldFlagBitMaskSEqHashDefSimple = 1 << 12    /* kTVMFFIDefRegionKindSimple begins here */
};
typedef enum TVMFFIFieldFlagBitMask TVMFFIFieldFlagBitMask;

/* How objects of a type compare: not at all, by content, as a variable that may be renamed, by content and sharing,
 * by content with no variable inside, or by address. */
enum TVMFFISEqHashKind TVM_FFI_ENUM_BASE_ {
  kTVMFFISEqHashKindUnsupported = 0,
  kTVMFFISEqHashKindTreeNode = 1,
  kTVMFFISEqHashKindFreeVar = 2,
  kTVMFFISEqHashKindDAGNode = 3,
  kTVMFFISEqHashKindConstTreeNode = 4,
  kTVMFFISEqHashKindUniqueInstance = 5
};
typedef enum TVMFFISEqHashKind TVMFFISEqHashKind;

/* Whether a field binds variables: no; yes, and those in its type too; or itself only. */
enum TVMFFIDefRegionKind TVM_FFI_ENUM_BASE_ {
  kTVMFFIDefRegionKindNone = 0,
  kTVMFFIDefRegionKindPattern = 1,
  kTVMFFIDefRegionKindSimple = 2
};
typedef enum TVMFFIDefRegionKind TVMFFIDefRegionKind;

/* One field of a type. metadata is JSON; size, alignment and offset are bytes, offset from the object's header. */
typedef struct {
  TVMFFIByteArray name;
  TVMFFIByteArray doc;
  TVMFFIByteArray metadata;
  int64_t flags;
  int64_t size;
  int64_t alignment;
  int64_t offset;
  TVMFFIFieldGetter getter;
  void* setter; /* a TVMFFIFieldSetter, or a function object: see the flag */
  TVMFFIAny default_value_or_factory;
  int32_t field_static_type_index; /* kTVMFFIAny if unknown */
} TVMFFIFieldInfo;

/* One method of a type, or a global function with its documentation. `method` is a view of the function. */
typedef struct {
  TVMFFIByteArray name;
  TVMFFIByteArray doc;
  TVMFFIByteArray metadata;
  int64_t flags;
  TVMFFIAny method;
} TVMFFIMethodInfo;

typedef struct {
  TVMFFIByteArray doc;
  TVMFFIObjectCreator creator; /* or NULL */
  int32_t total_size;          /* of an instance in bytes, 0 if it varies */
  TVMFFISEqHashKind structural_eq_hash_kind;
} TVMFFITypeMetadata;

/* One attribute of all types: type t has data[t - begin_index], None where unset. Nothing is inherited. */
typedef struct {
  const TVMFFIAny* data;
  int32_t size;
  int32_t begin_index;
} TVMFFITypeAttrColumn;

/* The description of a type. type_ancestors[d] is the ancestor at depth d, for d < type_depth. */
typedef struct TVMFFITypeInfo {
  int32_t type_index;
  int32_t type_depth;
  TVMFFIByteArray type_key;
  const struct TVMFFITypeInfo** type_ancestors;
  uint64_t type_key_hash;
  int32_t num_fields;
  int32_t num_methods;
  const TVMFFIFieldInfo* fields;
  const TVMFFIMethodInfo* methods;
  const TVMFFITypeMetadata* metadata;
} TVMFFITypeInfo;

/* Makes f a global function for all threads; f is retained. Fails if the name is taken and allow_override is 0. */
TVM_FFI_DLL int TVMFFIFunctionSetGlobal(const TVMFFIByteArray* name, TVMFFIObjectHandle f, int allow_override);

/* The same with documentation and metadata, which are copied. */
TVM_FFI_DLL int TVMFFIFunctionSetGlobalFromMethodInfo(const TVMFFIMethodInfo* method_info, int allow_override);

/* Add to a type; texts and values are copied, objects retained. Meant for start-up, before other threads look at the
 * type. Fail on an unknown type, a second field of one name, second metadata or a second value of one attribute. */
TVM_FFI_DLL int TVMFFITypeRegisterField(int32_t type_index, const TVMFFIFieldInfo* info);
TVM_FFI_DLL int TVMFFITypeRegisterMethod(int32_t type_index, const TVMFFIMethodInfo* info);
TVM_FFI_DLL int TVMFFITypeRegisterMetadata(int32_t type_index, const TVMFFITypeMetadata* metadata);
TVM_FFI_DLL int TVMFFITypeRegisterAttr(int32_t type_index, const TVMFFIByteArray* attr_name,
                                       const TVMFFIAny* attr_value);

/* The column of an attribute; NULL if it is not registered. The address stays valid, and later values appear in the
 * column. */
TVM_FFI_DLL const TVMFFITypeAttrColumn* TVMFFIGetTypeAttrColumn(const TVMFFIByteArray* attr_name);

/* The call stack as text, innermost frame first; filename and func may be NULL. Belongs to this thread until its next
 * call. */
TVM_FFI_DLL const TVMFFIByteArray* TVMFFIBacktrace(const char* filename, int lineno, const char* func,
                                                   int cross_ffi_boundary);

/* The index of a type, which is registered if it is new. static_type_index -1: pick one; parent_type_index -1: a root,
 * -2: only look it up, and return -2 if it is unknown. A clash, an unknown parent or exhausted slots return -1, with an
 * error raised on the thread. */
TVM_FFI_DLL int32_t TVMFFITypeGetOrAllocIndex(const TVMFFIByteArray* type_key, int32_t static_type_index,
                                              int32_t type_depth, int32_t num_child_slots,
                                              int32_t child_slots_can_overflow, int32_t parent_type_index);

/* The description of a registered type; valid for the life of the process. NULL for an index that was never
 * assigned. */
TVM_FFI_DLL TVM_FFI_ATTRIBUTE_PURE const TVMFFITypeInfo* TVMFFIGetTypeInfo(int32_t type_index);

/* Sets *handle_addr once: of all threads that come, one runs init_func, the others wait for it.
 * Fails when init_func does (the next caller tries again) or leaves NULL. */
TVM_FFI_DLL int TVMFFIHandleInitOnce(void** handle_addr, int (*init_func)(void** result));

/* The way back: deinit_func(handle) and NULL, once, when *handle_addr is set. */
TVM_FFI_DLL int TVMFFIHandleDeinitOnce(void** handle_addr, int (*deinit_func)(void* handle));

#ifdef __cplusplus
} /* extern "C" */
#endif

/* ---- Looking into objects: address arithmetic, no check, nothing retained ---------------------------------------- */

TVM_FFI_INLINE_ int32_t TVMFFIObjectGetTypeIndex(TVMFFIObjectHandle obj) { return ((TVMFFIObject*)obj)->type_index; }

/* The bytes of a small string, inside *value. */
TVM_FFI_INLINE_ TVMFFIByteArray TVMFFISmallBytesGetContentByteArray(const TVMFFIAny* value) {
  TVMFFIByteArray content;
  content.data = value->v_bytes;
  content.size = (size_t)value->small_str_len;
  return content;
}

/* The cell behind the header of a string or bytes, an error, a function, an opaque object, a shape, a tensor. */
TVM_FFI_INLINE_ TVMFFIByteArray* TVMFFIBytesGetByteArrayPtr(TVMFFIObjectHandle obj) {
  return (TVMFFIByteArray*)((char*)obj + sizeof(TVMFFIObject));
}
TVM_FFI_INLINE_ TVMFFIErrorCell* TVMFFIErrorGetCellPtr(TVMFFIObjectHandle obj) {
  return (TVMFFIErrorCell*)((char*)obj + sizeof(TVMFFIObject));
}
TVM_FFI_INLINE_ TVMFFIFunctionCell* TVMFFIFunctionGetCellPtr(TVMFFIObjectHandle obj) {
  return (TVMFFIFunctionCell*)((char*)obj + sizeof(TVMFFIObject));
}
TVM_FFI_INLINE_ TVMFFIOpaqueObjectCell* TVMFFIOpaqueObjectGetCellPtr(TVMFFIObjectHandle obj) {
  return (TVMFFIOpaqueObjectCell*)((char*)obj + sizeof(TVMFFIObject));
}
TVM_FFI_INLINE_ TVMFFIShapeCell* TVMFFIShapeGetCellPtr(TVMFFIObjectHandle obj) {
  return (TVMFFIShapeCell*)((char*)obj + sizeof(TVMFFIObject));
}
TVM_FFI_INLINE_ DLTensor* TVMFFITensorGetDLTensorPtr(TVMFFIObjectHandle obj) {
  return (DLTensor*)((char*)obj + sizeof(TVMFFIObject));
}

TVM_FFI_INLINE_ DLDevice TVMFFIDLDeviceFromIntPair(int32_t device_type, int32_t device_id) {
  DLDevice device;
  device.device_type = (DLDeviceType)device_type;
  device.device_id = device_id;
  return device;
}

#undef TVM_FFI_ENUM_BASE_
#undef TVM_FFI_UNION_
#undef TVM_FFI_INLINE_
#endif /* TVM_FFI_C_API_H_ */
