/* Constants of programs: one copy for each device, which models share; on the CPU views of the file. */
#include "vm/engine.h"

#include "loader/file_memory.h"

static int same_device(DLDevice a, DLDevice b) {
  return a.device_type == b.device_type && a.device_id == b.device_id;
}

/* A tensor that is not of the program's constants on the CPU: a copy, made at once. */
static int upload(const vm_constant* c, const DLTensor* like, TVMFFIAny* out) {
  tvmgo_tensor* t = tvmgo_tensor_new(like->shape, like->ndim, like->dtype, like->device, c->scope);
  if (t == NULL) return -1;
  *out = tvmgo_any_object(t);
  return c->size == 0 ? 0 : tvmgo_dl_copy_bytes(&t->dl, (void*)c->data, c->size, 1);
}

static int on_host(const vm_constant* c) { return c->is_tensor && c->scope[0] == 0 && c->size > 0; }

/* The constants on the CPU of all models. Under the lock. */
static tvmgo_constants* find_host(tvmgo_vm_program* p, int has_owner) {
  if (p->host != NULL) return p->host;
  tvmgo_constant_bytes* list = calloc((size_t)p->num_constants + 1, sizeof *list);
  if (list == NULL) {
    tvmgo_raise_oom();
    return NULL;
  }
  for (int64_t i = 0; i < p->num_constants; i++)
    if (on_host(&p->constants[i])) list[i] = (tvmgo_constant_bytes){p->constants[i].data, p->constants[i].size};
  p->host = tvmgo_constants_new(list, p->num_constants, has_owner);
  free(list);
  return p->host;
}

/* Makes constant i. host is NULL for a device that is not the CPU. */
static int make_constant(const tvmgo_vm_program* p, int64_t i, DLDevice dev, tvmgo_constants* host,
                         TVMFFIObject* executable, TVMFFIAny* out) {
  const vm_constant* c = &p->constants[i];
  if (!c->is_tensor) {
    *out = c->value;
    if (tvmgo_any_is_object(out)) tvmgo_object_retain(out->v_obj);
    return 0;
  }
  DLTensor like = {.device = dev, .ndim = c->ndim, .dtype = c->dtype, .shape = c->shape};
  if (host == NULL || !on_host(c)) return upload(c, &like, out);
  TVMFFIObject* t = tvmgo_constants_tensor(host, i, &like, executable);
  if (t == NULL) return -1;
  *out = tvmgo_any_object(t);
  return 0;
}

/* Releases the pages of the file behind constants that were copied to a device. */
static void release_pages(const tvmgo_vm_program* p) {
  tvmgo_file_maps* maps = p->num_constants > 0 ? tvmgo_file_maps_read() : NULL;
  for (int64_t i = 0; i < p->num_constants; i++) {
    const vm_constant* c = &p->constants[i];
    int is = c->is_tensor ? tvmgo_file_maps_find(maps, c->data, c->nbytes) : 0;
    if (is != 0 && !(is & TVMGO_FILE_WRITABLE)) tvmgo_file_drop(c->data, c->nbytes);
  }
  tvmgo_file_maps_free(maps);
}

static void free_uploaded(const tvmgo_vm_program* p, vm_uploaded* u) {
  for (int64_t i = 0; u != NULL && i < p->num_constants; i++) tvmgo_any_clear(&u->values[i]);
  free(u);
}

/* The constants on a device. Under the lock: no two threads upload them. */
static vm_uploaded* find(tvmgo_vm_program* p, DLDevice dev, TVMFFIObject* executable) {
  for (vm_uploaded* u = p->uploaded; u != NULL; u = u->next)
    if (same_device(u->device, dev)) {
      u->refs++;
      return u;
    }
  tvmgo_constants* host = NULL;
  if (dev.device_type == kDLCPU && (host = find_host(p, executable != NULL)) == NULL) return NULL;
  vm_uploaded* u = calloc(1, sizeof *u + (size_t)p->num_constants * sizeof *u->values);
  if (u == NULL) {
    tvmgo_raise_oom();
    return NULL;
  }
  for (int64_t i = 0; i < p->num_constants; i++)
    if (make_constant(p, i, dev, host, executable, &u->values[i]) != 0) {
      tvmgo_raise_context("upload constant %lld of the Relax executable", (long long)i);
      free_uploaded(p, u);
      return NULL;
    }
  if (host == NULL) release_pages(p);
  u->device = dev;
  u->refs = 1;
  u->next = p->uploaded;
  p->uploaded = u;
  return u;
}

vm_uploaded* tvmgo_vm_constants_get(tvmgo_vm_program* p, DLDevice dev, TVMFFIObject* executable) {
  TVMFFIObject* earlier = tvmgo_error_take();
  pthread_mutex_lock(&p->lock);
  vm_uploaded* u = find(p, dev, executable);
  pthread_mutex_unlock(&p->lock);
  tvmgo_error_put_back(earlier);
  return u;
}

void tvmgo_vm_constants_put(tvmgo_vm_program* p, vm_uploaded* u) {
  pthread_mutex_lock(&p->lock);
  int last = --u->refs == 0;
  if (last) {
    vm_uploaded** at = &p->uploaded;
    while (*at != u) at = &(*at)->next;
    *at = u->next;
  }
  pthread_mutex_unlock(&p->lock);
  if (last) free_uploaded(p, u);
}
