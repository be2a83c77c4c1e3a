// Modules: loaded images with their kernels and global variables.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "fake.h"

enum { JIT_INFO_LOG = 3, JIT_INFO_SIZE = 4, JIT_ERROR_LOG = 5, JIT_ERROR_SIZE = 6 };

static CUresult load(const guard *g, CUmodule *out, const void *data, char *why, size_t size) {
  if (!out || !data) return CUDA_ERROR_INVALID_VALUE;
  int arch = 10 * device_attribute(75, g->ctx->device, &(bool){false}) + device_attribute(76, g->ctx->device,
      &(bool){false});
  image i;
  CUresult result = image_read(data, arch, &i, why, size);
  if (result) return result;
  module *m = calloc(1, sizeof *m);
  m->image = i;
  m->globals = calloc((size_t)i.nglobals + 1, sizeof *m->globals);
  object_add(&m->o, MODULE, g->ctx);
  for (int n = 0; n < i.nglobals; n++) {
    result = block_make_device(g->ctx, g->ctx->device, NULL, i.globals[n].bytes ? i.globals[n].bytes : 1,
                               &m->globals[n]);
    if (result) {
      module_close(m);
      object_kill(&m->o);
      return result;
    }
    m->globals[n]->module = true;
    memset(host_address(m->globals[n]->base), 0, m->globals[n]->size);
  }
  *out = m;
  return CUDA_SUCCESS;
}

void module_close(module *m) {
  for (int n = 0; n < m->image.nglobals; n++) {
    if (m->globals[n]) block_release(m->globals[n], "cuModuleUnload");
  }
  free(m->globals);
  m->globals = NULL;
  for (int n = 0; n < m->nfunctions; n++) object_kill(&m->functions[n]->o);
  // Names and descriptions are kept, because reports about functions of an unloaded module use them.
  m->image.nglobals = 0;
}

API CUresult cuModuleLoadData(CUmodule *out, const void *data) {
  ENTER(F_CTX | F_UNSAFE);
  char why[256];
  return load(&g, out, data, why, sizeof why);
}

API CUresult cuModuleLoadDataEx(CUmodule *out, const void *data, unsigned count, int *options, void **values) {
  ENTER(F_CTX | F_UNSAFE);
  char why[256] = "";
  if (count && (!options || !values)) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = load(&g, out, data, why, sizeof why);
  char *log = NULL;
  size_t size = 0, at = count;
  for (unsigned i = 0; i < count; i++) {
    if (options[i] == JIT_ERROR_LOG) log = values[i];
    if (options[i] == JIT_ERROR_SIZE) {
      size = (uintptr_t)values[i] & 0xFFFFFFFF;
      at = i;
    }
    if (options[i] == JIT_INFO_SIZE) values[i] = NULL;
  }
  size_t written = 0;
  if (log && size) written = (size_t)snprintf(log, size, "%s", result ? why : "");
  if (at < count) values[at] = (void *)(written < size ? written : size);
  return result;
}

API CUresult cuModuleUnload(CUmodule handle) {
  ENTER(F_RELEASE | F_UNSAFE);
  module *m = object_find(&g, handle, MODULE);
  if (!m) return CUDA_ERROR_INVALID_HANDLE;
  for (stream *s = m->o.ctx->streams; s; s = s->next) {
    for (op *o = s->head; o; o = o->next) {
      if (o->w.kind == DO_KERNEL && o->w.function->module == m) {
        report("%s: kernel %s of %s is pending on %s", g.name, o->w.function->entry->name, object_name(&m->o),
            object_name(&s->o));
        break;
      }
    }
  }
  object_kill(&m->o); // no other thread can unload it while this call waits
  context_wait(m->o.ctx);
  module_close(m);
  return g.fault ? g.fault : context_state(m->o.ctx);
}

// Libraries stay open: functions of unloaded modules are still described.
fakecuda_node **kernel_list(const char *path) {
  if (!path || !*path) return NULL;
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) report("kernels on the host: %s", dlerror());
  return library ? dlsym(library, "fakecuda_kernel_list") : NULL;
}

const fakecuda_kernel *kernel_find(const image *i, const image_entry *e, bool *named) {
  fakecuda_node **list = kernel_list(i->library ? i->library : getenv("FAKECUDA_KERNELS"));
  *named = false;
  for (fakecuda_node *n = list ? *list : NULL; n; n = n->next) {
    const fakecuda_kernel *k = n->kernel;
    if (strcmp(k->name, e->name)) continue;
    *named = true;
    bool same = !e->sized || (int)k->nparams == e->nparams;
    for (int i = 0; same && e->sized && i < e->nparams; i++) same = k->params[i].size == e->sizes[i];
    if (same) return k;
  }
  return NULL;
}

API CUresult cuModuleGetFunction(CUfunction *out, CUmodule handle, const char *name) {
  ENTER(F_CTX);
  module *m = object_find(&g, handle, MODULE);
  if (!m) return CUDA_ERROR_INVALID_HANDLE;
  if (!out || !name || !*name) return CUDA_ERROR_INVALID_VALUE;
  for (int i = 0; i < m->nfunctions; i++) {
    if (!strcmp(m->functions[i]->entry->name, name)) {
      *out = m->functions[i];
      return CUDA_SUCCESS;
    }
  }
  image_entry *e = NULL;
  for (int i = 0; i < m->image.nentries && !e; i++) {
    if (!strcmp(m->image.entries[i].name, name)) e = &m->image.entries[i];
  }
  if (!e) return CUDA_ERROR_NOT_FOUND;
  bool named;
  const fakecuda_kernel *k = kernel_find(&m->image, e, &named);
  if (!k) {
    report("%s: kernel %s is in the image, and %s in the library that FAKECUDA_KERNELS names", g.name, name,
           named ? "has parameters of other sizes" : "has no host function");
    return CUDA_ERROR_NOT_FOUND;
  }
  if (k->arch && (int)k->arch > m->image.binary_arch) {
    report("%s: kernel %s is for sm_%u and newer", g.name, name, k->arch);
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  function *f = calloc(1, sizeof *f);
  *f = (function){.module = m, .kernel = k, .entry = e, .carveout = -1};
  object_add(&f->o, FUNCTION, m->o.ctx);
  m->functions = realloc(m->functions, (size_t)(m->nfunctions + 1) * sizeof *m->functions);
  m->functions[m->nfunctions++] = f;
  *out = f;
  return CUDA_SUCCESS;
}

API CUresult cuModuleGetGlobal_v2(CUdeviceptr *at, size_t *bytes, CUmodule handle, const char *name) {
  ENTER(F_CTX);
  module *m = object_find(&g, handle, MODULE);
  if (!m) return CUDA_ERROR_INVALID_HANDLE;
  if (!name || (!at && !bytes)) return CUDA_ERROR_INVALID_VALUE;
  for (int i = 0; i < m->image.nglobals; i++) {
    if (strcmp(m->image.globals[i].name, name)) continue;
    if (at) *at = m->globals[i]->base;
    if (bytes) *bytes = m->image.globals[i].bytes;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_FOUND;
}
