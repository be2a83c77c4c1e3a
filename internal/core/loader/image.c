/* Opens a library for its functions: the file itself if nobody else uses it, else a copy. */
#include "loader/loader.h"
#include "loader/elf_bind.h"
#include "loader/copy_file.h"
#include "loader/mapping.h"
#include "loader/loaded_objects.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the program's choice ---- */

static _Atomic int private_default;
static pthread_once_t default_once = PTHREAD_ONCE_INIT;

static void read_default(void) {
  const char* s = getenv("TVMGO_PRIVATE_LOAD");
  atomic_store(&private_default, s != NULL && s[0] != 0 && strcmp(s, "0") != 0);
}

void tvmgo_image_set_private_default(int on) {
  pthread_once(&default_once, read_default);
  atomic_store(&private_default, on != 0);
}

static int wants_private(unsigned flags) {
  pthread_once(&default_once, read_default);
  return (flags & TVMGO_IMAGE_PRIVATE) || atomic_load(&private_default);
}

/* ---- opening ---- */

typedef enum {
  FAILED = -1, /* an error is raised, as for the last two */
  OPENED = 0,
  TAKEN,       /* ld.so has another library under this path, or somebody else has the file */
  UNRESOLVED,  /* it binds immediately, and one of our names is undefined */
  UNMAPPED     /* the path itself cannot be opened or mapped */
} outcome;

static void forget_error(void) { tvmgo_object_release(tvmgo_error_take()); }

/* Notes why a copy cannot be opened. */
static void note(tvmgo_mapping* m, const char* path, const char* why) {
  int noexec = tvmgo_is_noexec(m->copy.fd, path);
  snprintf(m->copy.why, sizeof m->copy.why, "%s", noexec ? "it is mounted noexec" : why);
}

/* Raises dlopen's error, without the path that was passed to it. */
static outcome raise_refused(tvmgo_mapping* m, const tvmgo_elf* elf, const char* path) {
  const char* why = dlerror();
  if (why == NULL) why = "the dynamic linker gave no reason";
  size_t n = strlen(path);
  int about_path = strncmp(why, path, n) == 0 && why[n] == ':';
  if (about_path) why += n + 1 + strspn(why + n + 1, " ");
  const char* missing = strstr(why, "undefined symbol: ");
  if (missing != NULL) {
    char name[256];
    missing += strlen("undefined symbol: ");
    snprintf(name, sizeof name, "%.*s", (int)strcspn(missing, ", \t("), missing);
    tvmgo_elf_raise_missing(elf, name);
    return tvmgo_binding_find(name) == NULL ? FAILED : UNRESOLVED;
  }
  if (strstr(why, strerror(ENOMEM)) != NULL || strstr(why, "cannot create") != NULL ||
      strcmp(why, "cannot open shared object file") == 0) /* in all other cases the message has a reason */
    return tvmgo_raise_oom();
  int is_absent = strstr(why, "cannot open shared object file") != NULL;
  if (is_absent && !about_path)
    return tvmgo_raise(TVMGO_NOT_FOUND_ERROR,
                       "load %s: a library it depends on is missing: %s: install it or put its "
                       "folder into LD_LIBRARY_PATH",
                       elf->name, why);
  if (strstr(why, "' not found") != NULL) /* version `GLIBC_2.38' not found */
    return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR,
                       "load %s: %s: link it on a system no newer than this one", elf->name, why);
  if (strstr(why, "ISA level") != NULL)
    return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR,
                       "load %s: it was linked for CPUs with more instructions than this machine's has (%s): export it "
                       "for this CPU, or for every CPU",
                       elf->name, why);
  if (strstr(why, "DT_RELR") != NULL)
    return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR,
                       "load %s: %s: link it with -Wl,-z,pack-relative-relocs, or without --pack-dyn-relocs", elf->name,
                       why);
  int is_unmapped = strstr(why, "failed to map segment") != NULL;
  if (is_unmapped && m->is_direct && tvmgo_is_noexec(-1, path))
    tvmgo_raise(TVMGO_RUNTIME_ERROR,
                "load %s: its file system is mounted noexec, so that its code cannot be executed: move it to "
                "another one",
                elf->name);
  else
    tvmgo_raise(TVMGO_RUNTIME_ERROR, "load %s: the dynamic linker refuses it: %s", elf->name, why);
  if (!is_absent && !is_unmapped) return FAILED;
  note(m, path, why);
  return UNMAPPED;
}

/* Most exported files need libm, which the program itself often does not. It stays loaded after the first such file,
 * because mapping it again for each costs more than the rest of loading. */
static void keep_libm(const tvmgo_elf* elf) {
  static _Atomic int kept;
  if (!elf->needs_libm || atomic_load_explicit(&kept, memory_order_relaxed)) return;
  if (dlopen("libm.so.6", RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) != NULL) atomic_store(&kept, 1);
}

/* Opens path, which must be new to ld.so, and binds it. Nothing is open unless OPENED. */
static outcome open_new(tvmgo_mapping* m, const tvmgo_elf* elf, const char* path,
                        const tvmgo_loaded* before) {
  /* Addresses that constructors register outlive the module. */
  int flags = RTLD_LAZY | RTLD_LOCAL | (elf->registers_system_lib ? RTLD_NODELETE : 0);
  void* handle = dlopen(path, flags);
  if (handle == NULL) return raise_refused(m, elf, path);
  outcome rc = tvmgo_mapping_attach(m, elf, handle);
  if (rc == OPENED && tvmgo_loaded_holds(before, (uintptr_t)m->base)) rc = TAKEN;
  if (rc == OPENED &&
      (tvmgo_elf_bind(elf, m->base) != 0 || tvmgo_elf_check_lazy(elf, handle) != 0))
    rc = FAILED;
  if (rc == OPENED) {
    m->handle = handle;
    keep_libm(elf);
  } else {
    dlclose(handle);
  }
  return rc;
}

/* ld.so could not bind it to this runtime, or only after its constructors have called this runtime. */
static int needs_copy(const tvmgo_elf* elf) {
  if (elf->needs_runtime && !elf->runtime_versioned && !elf->imports_unknown) return 1;
  return (elf->needs_definition || (elf->has_constructors && elf->calls_ours)) &&
         !tvmgo_elf_sees_us(elf);
}

static outcome open_direct(tvmgo_mapping* m, const tvmgo_elf* elf, const char* path) {
  tvmgo_loaded before;
  if (tvmgo_loaded_look(&before) != 0) return FAILED;
  outcome rc = before.has_peer || needs_copy(elf) ? TAKEN : open_new(m, elf, path, &before);
  tvmgo_loaded_release(&before);
  return rc;
}

static outcome open_copy(tvmgo_mapping* m, tvmgo_elf* elf, const char* path, tvmgo_copy_place place) {
  enum { MAX_PATHS = 16 };
  tvmgo_loaded before;
  int made = tvmgo_elf_copy_make(elf, place, &m->copy);
  if (made != 0) return made < 0 ? FAILED : UNMAPPED;
  outcome rc = OPENED;
  if (elf->is_checked && tvmgo_elf_check_beside(elf, path) != 0) rc = FAILED;
  if (rc == OPENED && path != NULL && elf->uses_origin && m->origin == NULL)
    rc = tvmgo_elf_open_origin(elf, path, &m->origin, &m->num_origin);
  for (int i = 0; rc == OPENED; i++) {
    if (tvmgo_loaded_look(&before) != 0) {
      rc = FAILED;
      break;
    }
    rc = open_new(m, elf, m->copy.path, &before);
    tvmgo_loaded_release(&before);
    if (rc != TAKEN) break;
    /* A library that could not be unloaded keeps the path of its memory file, which is closed. */
    rc = OPENED;
    if (i == MAX_PATHS || tvmgo_elf_copy_rename(&m->copy) != 0) {
      snprintf(m->copy.why, sizeof m->copy.why, "its path belongs to a library that was opened earlier");
      rc = UNMAPPED;
    }
  }
  tvmgo_elf_copy_opened(&m->copy);
  if (rc != OPENED) tvmgo_elf_copy_close(&m->copy);
  return rc;
}

/* Tries the places one after the other. */
static outcome open_some_copy(tvmgo_mapping* m, tvmgo_elf* elf, const char* path) {
  char why[TVMGO_COPY_PLACES][sizeof m->copy.why] = {{0}};
  const int has_paths = tvmgo_has_descriptor_paths();
  for (tvmgo_copy_place place = TVMGO_COPY_IN_MEMORY; place < TVMGO_COPY_PLACES; place++) {
    if (place == TVMGO_COPY_NAMED ? elf->is_checked : !has_paths) continue;
    outcome rc = open_copy(m, elf, path, place);
    if (rc != UNMAPPED) return rc;
    forget_error();
    memcpy(why[place], m->copy.why, sizeof why[place]);
  }
  tvmgo_elf_copy_raise(elf, why);
  return FAILED;
}

static int open_mapping(tvmgo_mapping* m, tvmgo_elf* elf, const char* path) {
  outcome rc = m->is_direct ? open_direct(m, elf, path) : TAKEN;
  if (rc == UNRESOLVED) { /* LD_BIND_NOW */
    forget_error();
    rc = TAKEN;
  }
  if (rc == TAKEN) {
    tvmgo_mapping_leave_file(m);
    rc = open_some_copy(m, elf, path);
  }
  return rc == OPENED ? 0 : -1;
}

/* ---- images ---- */

static tvmgo_mapping* mapping_of(const tvmgo_image* image) { return image->priv; }

static void delete_image(void* self, int flags) {
  tvmgo_image* image = self;
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    tvmgo_mapping_release(mapping_of(image));
    free(image->name);
  }
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) tvmgo_object_free(self);
}

static int32_t image_type(void) {
  static _Atomic int32_t index;
  int32_t i = atomic_load_explicit(&index, memory_order_acquire);
  if (i == 0) {
    TVMFFIByteArray key = {"tvmgo.Image", sizeof "tvmgo.Image" - 1};
    i = TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 0, kTVMFFIObject);
    atomic_store_explicit(&index, i, memory_order_release);
  }
  return i;
}

/* Takes over the reference to m. */
static tvmgo_image* new_image(const char* name, tvmgo_mapping* m) {
  char* own = strdup(name);
  tvmgo_image* image = NULL;
  if (own == NULL)
    tvmgo_raise_oom();
  else
    image = tvmgo_object_new(sizeof *image, image_type(), delete_image);
  if (image == NULL) {
    free(own);
    tvmgo_mapping_release(m);
    return NULL;
  }
  image->name = own;
  image->generation = m->generation;
  image->is_private = !m->is_direct;
  image->priv = m;
  return image;
}

static int open_checked(tvmgo_elf* elf, const struct stat* file, const char* path, int private,
                        tvmgo_image** out) {
  if (elf->registers_system_lib && !tvmgo_elf_sees_us(elf))
    return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR,
                       "load %s: its constructors register functions with the system library, "
                       "which is for code that is part of the program: link it into the program, "
                       "or export it without system-lib",
                       elf->name);
  tvmgo_mapping* m = tvmgo_mapping_new(elf, file);
  if (m == NULL) return -1;
  m->is_direct = !private;
  m->is_checked = elf->is_checked;
  m->is_kept = elf->registers_globals;
  m->is_shareable = m->is_kept || (!private && !elf->is_stateful);
  int entered = tvmgo_mapping_enter(&m, elf->name);
  if (entered < 0) return -1;
  if (entered == 0) {
    if (open_mapping(m, elf, path) != 0) {
      tvmgo_mapping_release(m);
      return -1;
    }
    tvmgo_mapping_settle(m);
  }
  *out = new_image(elf->name, m);
  return *out == NULL ? -1 : 0;
}

static int open_readable(const char* path) {
  return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

/* Opens a file. "x.so" is one of the current directory, else of the first folder of LD_LIBRARY_PATH
   that has it: dlopen, too, looks there for what has no slash, and users of other runtimes rely on
   it. Sets the path by which ld.so finds the file. Returns -1 with errno, or with *path NULL and an
   error raised. */
static int open_named(const char* name, char** path) {
  const int bare = strchr(name, '/') == NULL;
  const char* folders = bare ? secure_getenv("LD_LIBRARY_PATH") : NULL;
  *path = malloc(strlen(name) + (folders == NULL ? 0 : strlen(folders)) + 3);
  if (*path == NULL) {
    tvmgo_raise_oom();
    return -1;
  }
  sprintf(*path, "%s%s", bare ? "./" : "", name);
  int fd = open_readable(*path);
  if (fd >= 0 || errno != ENOENT || folders == NULL) return fd;
  for (const char* at = folders;; at++) {
    const size_t length = strcspn(at, ":;");
    if (length > 0) { /* an empty one is the current directory */
      sprintf(*path, "%.*s/%s", (int)length, at, name);
      if ((fd = open_readable(*path)) >= 0) return fd;
    }
    at += length;
    if (*at == 0) break;
  }
  errno = ENOENT;
  return -1;
}

static int raise_unopened(const char* name) {
  switch (errno) {
    case ENOENT:
    case ENOTDIR:
      return tvmgo_raise_system(ENOENT, TVMGO_NOT_FOUND_ERROR, "load %s: no such file: check the path", name);
    case EACCES:
      return tvmgo_raise_system(errno, TVMGO_RUNTIME_ERROR, "load %s: permission denied: make it readable", name);
    case EMFILE:
    case ENFILE:
      return tvmgo_raise_system(errno, TVMGO_RUNTIME_ERROR,
                                "load %s: too many open files: close some, or raise the limit (ulimit -n)",
                                name);
    default: return tvmgo_raise_system(errno, TVMGO_RUNTIME_ERROR, "load %s: %s", name, strerror(errno));
  }
}

int tvmgo_unreadable(const char* name) {
  int fd = open_readable(name);
  if (fd < 0) return errno;
  close(fd);
  return 0;
}

static int open_file(const char* name, int fd, const char* path, int private, tvmgo_image** out) {
  struct stat file;
  tvmgo_elf elf;
  if (fstat(fd, &file) != 0) return raise_unopened(name);
  if (S_ISDIR(file.st_mode))
    return tvmgo_raise(TVMGO_CORRUPT_ERROR, "load %s: a directory: give the library in it", name);
  if (!S_ISREG(file.st_mode))
    return tvmgo_raise(TVMGO_CORRUPT_ERROR,
                       "load %s: not a regular file: copy it to one, or load its bytes", name);
  int trusted = -1, rc = -1;
  if (tvmgo_trust_is_needed() && (trusted = tvmgo_trust_open(name, path, fd, &file)) < 0) return -1;
  if (tvmgo_elf_check(&elf, name, trusted < 0 ? fd : trusted, NULL, (uint64_t)file.st_size) == 0) {
    elf.is_checked = trusted >= 0;
    rc = open_checked(&elf, &file, path, private || elf.is_checked, out);
    tvmgo_elf_release(&elf);
  }
  if (trusted >= 0) close(trusted);
  return rc;
}

/* FNV-1a. */
static uint64_t hash_content(const unsigned char* p, size_t size, uint64_t h) {
  for (size_t i = 0; i < size; i++) h = (h ^ p[i]) * UINT64_C(0x100000001b3);
  return h;
}

/* Bytes that must not be loaded twice are identified by their content, as files are by their inode number. */
static void identify(struct stat* file, const void* bytes, size_t size) {
  file->st_dev = (dev_t)-1;
  file->st_ino = (ino_t)(hash_content(bytes, size, UINT64_C(0xcbf29ce484222325)) | 1);
  file->st_mtim.tv_sec = (time_t)hash_content(bytes, size, UINT64_C(0x9e3779b97f4a7c15));
  file->st_size = (off_t)size;
}

static int open_bytes(const char* name, const void* bytes, size_t size, tvmgo_image** out) {
  struct stat file;
  tvmgo_elf elf;
  memset(&file, 0, sizeof file);
  if (tvmgo_elf_check(&elf, name, -1, bytes, size) != 0) return -1;
  if (elf.registers_globals) identify(&file, bytes, size);
  int rc = open_checked(&elf, &file, NULL, 1, out);
  tvmgo_elf_release(&elf);
  return rc;
}

int tvmgo_image_open(const char* name, const void* bytes, size_t nbytes, unsigned flags,
                     tvmgo_image** out) {
  *out = NULL;
  if (bytes != NULL && name == NULL) name = "bytes";
  if (name == NULL || (name[0] == 0 && bytes == NULL))
    return tvmgo_raise(TVMGO_VALUE_ERROR, "load: the path is %s: give the path of a library",
                       name == NULL ? "NULL" : "empty");
  if (tvmgo_enter_loader(name) != 0) return -1;
  if (bytes != NULL) return open_bytes(name, bytes, nbytes, out);
  char* path;
  int fd = open_named(name, &path), rc;
  if (path == NULL) return -1;
  if (fd < 0) {
    rc = raise_unopened(name);
  } else {
    /* ld.so expands what starts with a dollar sign: such a path cannot be given to it. */
    rc = open_file(name, fd, path, wants_private(flags) || strchr(path, '$') != NULL, out);
    close(fd);
  }
  free(path);
  return rc;
}

/* ---- looking into one ---- */

/* Address of a symbol of m, or NULL where it points out of the file. */
TVMGO_BEHIND_LD_SO
static void* address_of(const tvmgo_mapping* m, const Elf64_Sym* s, int* type) {
  *type = ELF64_ST_TYPE(s->st_info);
  char* p = m->base + s->st_value;
  if (tvmgo_mapping_range(m, (uintptr_t)p) == NULL) return NULL;
  if (*type != STT_GNU_IFUNC) return p;
  *type = STT_FUNC; /* chosen by the CPU; a file's own symbols come before its dependencies' */
  return dlsym(m->handle, tvmgo_elf_symbols_name(&m->symbols, s));
}

void* tvmgo_image_symbol(const tvmgo_image* image, const char* name, size_t len, int* type) {
  const tvmgo_mapping* m = mapping_of(image);
  const Elf64_Sym* s = tvmgo_elf_symbols_find(&m->symbols, name, len);
  int t = STT_NOTYPE;
  void* p = s == NULL ? NULL : address_of(m, s, &t);
  if (type != NULL) *type = t;
  return p;
}

void** tvmgo_image_slot(const tvmgo_image* image, const char* name, size_t len) {
  const tvmgo_mapping* m = mapping_of(image);
  int type;
  uintptr_t p = (uintptr_t)tvmgo_image_symbol(image, name, len, &type);
  const tvmgo_range* r = p == 0 || p % sizeof(void*) != 0 ? NULL : tvmgo_mapping_range(m, p);
  if (r == NULL || type == STT_FUNC || !r->is_writable || r->end - p < sizeof(void*) ||
      (p >= m->relro && p < m->relro_end))
    return NULL;
  return (void**)p;
}

TVMGO_BEHIND_LD_SO
int tvmgo_image_each(const tvmgo_image* image,
                     int (*each)(void* ctx, const char* name, int type, void* address), void* ctx) {
  const tvmgo_mapping* m = mapping_of(image);
  for (size_t i = 1; i < m->symbols.num_symbols; i++) {
    const Elf64_Sym* s = tvmgo_elf_symbols_at(&m->symbols, i);
    int type = STT_NOTYPE;
    void* p = s == NULL ? NULL : address_of(m, s, &type);
    int rc = p == NULL ? 0 : each(ctx, tvmgo_elf_symbols_name(&m->symbols, s), type, p);
    if (rc != 0) return rc;
  }
  return 0;
}

size_t tvmgo_image_extent(const tvmgo_image* image, const void* p) {
  const tvmgo_range* r = tvmgo_mapping_range(mapping_of(image), (uintptr_t)p);
  return r == NULL || (uintptr_t)p >= r->file_end ? 0 : r->file_end - (uintptr_t)p;
}

void tvmgo_image_constants(const tvmgo_image* image, void (*each)(void* ctx, const void* data, size_t size),
    void* ctx) {
  const tvmgo_mapping* m = mapping_of(image);
  for (size_t i = 0; i < m->num_ranges; i++) {
    const tvmgo_range* r = &m->ranges[i];
    if (!r->is_writable && r->is_readable && r->file_end > r->start)
      each(ctx, (const void*)r->start, r->file_end - r->start);
  }
}
