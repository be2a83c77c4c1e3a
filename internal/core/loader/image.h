/* A shared library opened for its functions. It is checked before it is opened, bound to this runtime through its own
 * relocation slots (docs/abi.md I), and searched without its dependencies.
 *
 * An image is a counted object: modules, functions and every view of its data retain it;
 * dlclose runs when the last reference is released. */
#pragma once

#include "object/counted.h"

typedef enum {
  TVMGO_GENERATION_PLAIN,   /* no marker: functions are looked up as modern, then as classic */
  TVMGO_GENERATION_CLASSIC, /* 6-argument functions: up to v0.20 */
  TVMGO_GENERATION_V21,     /* v0.21: safe calls under plain names, 16-byte object header */
  TVMGO_GENERATION_MODERN   /* __tvm_ffi_<name>: from v0.22 */
} tvmgo_generation;

enum {
  TVMGO_IMAGE_PRIVATE = 1 /* open a private copy of the file whatever the situation */
};

typedef struct tvmgo_image {
  TVMFFIObject header;
  char* name;                  /* path as given, or the name of in-memory bytes */
  tvmgo_generation generation;
  int is_private;              /* a copy was opened */
  /* the rest belongs to image.c */
  void* priv;
} tvmgo_image;

/* Opens path, or nbytes bytes when bytes != NULL (name is then for messages; the bytes are copied).
 * Owned. A path without a slash is a file of the current directory. Any thread, also constructors of
 * libraries. Raises NotFoundError (file, library it depends on, function it needs),
 * CorruptModuleError, NotSupportedError (another machine, not a shared library), MemoryError,
 * RuntimeError (other errors of the system).
 *
 * A private copy is opened if the file itself cannot be used: it was linked so that only ld.so can bind it, its
 * constructors call us, the process has another TVM runtime or another owner of the file, or we have it open already
 * and it keeps the context of a module. If the load checks signatures (trust.h), it is always a copy, of the bytes that
 * were checked; then UntrustedError is raised for a file that must not be loaded. */
int tvmgo_image_open(const char* name, const void* bytes, size_t nbytes, unsigned flags,
                     tvmgo_image** out);

/* Address of a symbol that this file itself defines, else NULL. type: STT_FUNC=2,
 * STT_OBJECT=1, STT_NOTYPE=0 of elf.h; may be NULL. */
void* tvmgo_image_symbol(const tvmgo_image* image, const char* name, size_t len, int* type);

/* Address of a pointer that the file defines for us to fill: aligned and writable; NULL if there is
 * none, or the symbol is something else. */
void** tvmgo_image_slot(const tvmgo_image* image, const char* name, size_t len);

/* Calls each(ctx, name, type, address) for every defined, exported symbol until it returns non-zero,
 * which is then the result. */
int tvmgo_image_each(const tvmgo_image* image,
                     int (*each)(void* ctx, const char* name, int type, void* address), void* ctx);

/* Bytes from p to the end of the file-backed part of the segment that holds it; 0 when p lies
 * outside the image. */
size_t tvmgo_image_extent(const tvmgo_image* image, const void* p);

/* Bytes of the file that the image was opened from, owned. Raises NotSupportedError for one that was
 * opened from bytes, and an error for a file that changed since. image_bytes.c */
int tvmgo_image_file_bytes(const tvmgo_image* image, TVMFFIAny* out);

/* A name that loaded files import, and the address it is bound to. classic differs from modern only
 * for names that have two signatures (TVMBackendAnyList*). The table ends with name == NULL. */
typedef struct {
  const char* name;
  void* modern;
  void* classic;
  const char* slot; /* "__" + name where files may define a pointer to be filled, else NULL */
} tvmgo_binding;
extern const tvmgo_binding tvmgo_bindings[];

/* Fills the pointer slots that the file defines: those of the table, and the names given to
 * TVMFFIEnvModRegisterContextSymbol. context_symbols.c */
void tvmgo_context_symbols_fill(tvmgo_image* image);

/* The read-only mappings of the file: calls each with the parts that the file has bytes for. */
void tvmgo_image_constants(const tvmgo_image* image, void (*each)(void* ctx, const void* data, size_t size), void* ctx);

/* Policy set by the program: 1 = every load is a private copy (environment TVMGO_PRIVATE_LOAD=1). */
void tvmgo_image_set_private_default(int on);
