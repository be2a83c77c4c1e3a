// Declarations for all parts of the fake driver. One lock guards all state; operations run without it, on the thread of
// their stream. Handles stay in memory after they are destroyed, so that a later use is detected and reported by name.
#ifndef FAKE_H
#define FAKE_H

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "../fakecuda.h"
#include "../fakecuda_kernel.h"
#include "cutypes.h"

#define API __attribute__((visibility("default")))
#define MAX_DEVICES 8
#define PARAM_BYTES 4096 // of one launch; the offset of each value is a multiple of 8
#define SLOTS 192 // clocks; further streams share one

typedef struct { uint32_t at[SLOTS]; } vclock;

// ---- handles (object.c)
typedef enum { CONTEXT, STREAM, EVENT, MODULE, FUNCTION, GRAPH, EXEC, POOL, KINDS } object_kind;
typedef struct object {
  object_kind kind;
  bool alive;
  unsigned serial; // "stream 3" in reports
  struct context *ctx;
  struct object *next; // in the list of all objects
} object;

// ---- the current call (guard.c)
enum { F_NOINIT = 1, F_CTX = 2, F_RELEASE = 4, F_UNSAFE = 8 };
typedef struct {
  const char *name;
  CUresult refuse; // if not 0, the call returns this and does nothing
  CUresult fault;  // the call returns this after it has released the object
  struct context *ctx;
} guard;
guard guard_enter(const char *name, int flags);
void guard_leave(guard *g);
// Whether a call that frees memory fails and frees nothing. If the error sticks to the context, memory is freed.
bool guard_keeps(guard *g);
#define ENTER(flags)                                                                                                   \
  guard g __attribute__((cleanup(guard_leave))) = guard_enter(__func__, flags);                                        \
  if (g.refuse) return g.refuse

// ---- state
typedef struct {
  int devices, version;
  long long memory, delay_us;
  bool strict_destroy, no_peer, poison;
  CUresult refuse_free;
} settings;
extern settings config;
extern pthread_mutex_t fake_lock;
extern pthread_cond_t fake_changed;
extern bool initialised;

// ---- reports (report.c): the lock is held
void report(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *object_name(const object *o); // valid until the thread has called this a few times more
void report_reset(void);

void object_add(object *o, object_kind kind, struct context *ctx);
// The live object of a handle; NULL, after a report that names the call and the argument, if there is none.
void *object_find(const guard *g, const void *handle, object_kind kind);
void object_kill(object *o);
extern object *objects;

// ---- devices and contexts
typedef struct {
  struct context *primary;
  int retained;
  CUresult lost;
  size_t used, cached; // bytes taken from config.memory
} device_state;
extern device_state devices[MAX_DEVICES];
bool device_ok(const guard *g, int device);
int device_attribute(int attribute, int device, bool *known);
typedef struct context {
  object o;
  int device;
  CUresult sticky;
  unsigned peers; // one bit per device
  struct stream *legacy, *streams;
  vclock closed; // of closed streams
} context;
context *context_current(void);
CUresult context_state(const context *c); // the sticky error, or 0
void context_destroy(context *c, const char *call);
void contexts_forget(void);

// ---- operations and streams
typedef enum { DO_MARK, DO_COPY, DO_SET, DO_KERNEL, DO_FREE } work_kind;
typedef struct work {
  work_kind kind;
  const char *call;
  CUdeviceptr dst, src;
  size_t bytes; // of a copy or a memset
  uint32_t value; // of a memset
  void *staged;       // a copy of the source, owned
  uint64_t checksum;  // of a page-locked source, if summed is set
  bool summed;
  struct function *function;
  fakecuda_launch launch;
  unsigned char *params; // owned
  struct block *block; // that DO_FREE frees
} work;
void work_done(work *w);                  // frees what the work owns
work work_copy(const work *w);            // for the launch of a graph
CUresult work_run(work *w, struct stream *s, CUresult status); // called without the lock

typedef struct op {
  int refs;
  bool done;
  struct stream *stream;
  struct op *next, **deps;
  int ndeps;
  uint32_t seq;
  vclock clock;
  double time;
  work w;
} op;
op *op_hold(op *o);
void op_drop(op *o);
// Queues work on a stream, to run after the stream's earlier work and after the given operations; takes ownership of w.
op *op_enqueue(struct stream *s, work w, op *const *after, int nafter);
void op_forget(void); // called when all streams are closed; returns when their threads have ended
void op_wait(op *o); // the host waits; afterwards everything before o is known to be done

typedef struct stream {
  object o;
  unsigned flags;
  int priority, slot;
  bool legacy, per_thread, started, closing;
  pthread_t owner;
  op *head, *tail, *last; // last: with a reference, perhaps done
  vclock clock;
  struct capture *capture;
  int *cap_deps, ncap_deps;
  struct stream *next; // in the list of the context
} stream;
stream *stream_make(context *c, unsigned flags, int priority);
void stream_close(stream *s);
void stream_unlink(stream *s); // called when its work is done and no more will follow
bool stream_idle(const stream *s);
// The stream of a handle, or of the special handles 0, 1 and 2. If the result is an error, it has been reported.
CUresult stream_find(const guard *g, CUstream handle, stream **s);
// Queues the work on the stream, or records it if the stream is being captured.
CUresult stream_do(const guard *g, stream *s, work w);
void context_wait(context *c);

typedef struct event {
  object o;
  unsigned flags;
  op *op;
  struct capture *capture;
  int *cap_deps, ncap_deps;
} event;

// ---- order between operations (order.c)
typedef struct {
  size_t lo, hi; // offsets in the block
  int slot;
  uint32_t seq;
  bool write, reported;
  const char *call;
  const object *stream;
} record;
int order_slot(void);
void order_slot_free(int slot);
uint32_t order_tick(int slot);
void order_finished(int slot, uint32_t seq);
void order_join(vclock *to, const vclock *from);
void order_known(const vclock *clock);
void order_host(vclock *clock);
void order_access(struct block *b, size_t lo, size_t hi, bool write, const op *o);
// An access that is not done yet, by a stream of a context other than awaited, for which the caller waits (NULL: it
// waits for none).
const record *order_pending_unawaited(const struct block *b, const struct context *awaited);
bool order_pending(const struct block *b, size_t lo, size_t hi, bool writes_only);
void order_reset(void);

// ---- memory
typedef enum { DEVICE_MEMORY, MANAGED_MEMORY, HOST_MEMORY } block_kind;
typedef struct block {
  CUdeviceptr base;
  size_t size;
  block_kind kind;
  context *ctx;
  int device;
  struct pool *pool; // of stream-ordered memory, else NULL
  bool freed; // cuMemFreeAsync was called
  bool module; // a global variable of a module
  const char *freed_by;
  record *records;
  int nrecords, caprecords;
} block;
extern block **blocks;
extern int nblocks;
block *block_find(CUdeviceptr at);
block *block_of(CUdeviceptr at); // freed blocks, too
CUresult block_make_device(context *c, int device, struct pool *pool, size_t bytes, block **out);
void block_release(block *b, const char *call); // does not wait
void block_wait(block *b);
void memory_reset(void);
void *host_address(CUdeviceptr at); // the bytes of a device address
// Checks that the bytes of an argument lie in one live block. If host is set, pageable host memory is allowed, too; its
// block is NULL.
CUresult range_check(const guard *g, const char *what, CUdeviceptr at, size_t bytes, bool host, block **out);
typedef struct pool {
  object o;
  int device;
  uint64_t attributes[16];
  size_t used, used_high, reserved_high, cached;
  struct pool *next;
} pool;
CUresult pool_take(pool *p, size_t bytes);
void pool_give(pool *p, size_t bytes);
void pools_trim(void);
void pools_reset(void);

typedef struct { CUdeviceptr at; size_t bytes; bool write; const char *what; } access_range;
#define MAX_ACCESS (FAKECUDA_MAX_PARAMS)
int work_accesses(const work *w, access_range *out);
uint64_t bytes_sum(const void *p, size_t n);

// ---- modules and kernels
typedef struct { char *name; uint32_t sizes[FAKECUDA_MAX_PARAMS]; int nparams; uint32_t max_threads; bool sized;
                } image_entry;
typedef struct { char *name; size_t bytes; } image_global;
typedef struct {
  image_entry *entries;
  int nentries;
  image_global *globals;
  int nglobals;
  int ptx_arch, binary_arch;
  char *library; // that has the kernels' host functions; NULL for the one that FAKECUDA_KERNELS names
} image;
CUresult image_read(const void *data, int arch, image *out, char *why, size_t why_size);
void image_free(image *i);
typedef struct function {
  object o;
  struct module *module;
  const fakecuda_kernel *kernel;
  image_entry *entry;
  int max_dynamic, carveout, nonportable_cluster;
} function;
typedef struct module {
  object o;
  image image;
  block **globals;
  function **functions;
  int nfunctions;
} module;
void module_close(module *m);
// The host function for a kernel of an image. Sets *named if there is one with its name, perhaps with other parameters.
const fakecuda_kernel *kernel_find(const image *i, const image_entry *e, bool *named);
// The kernels of a library; NULL if there are none.
fakecuda_node **kernel_list(const char *path);
void wait_released(void);

// ---- capture and graphs
typedef struct graph_node { work w; int *deps, ndeps; } graph_node;
typedef struct graph {
  object o;
  graph_node *nodes;
  int nnodes, cap;
} graph;
typedef struct graph_exec {
  object o;
  graph_node *nodes;
  int nnodes;
  op *last;
} graph_exec;
typedef struct capture {
  int mode;
  pthread_t thread;
  stream *origin;
  graph *graph;
  bool invalid;
  struct capture *next;
} capture;
extern capture *captures;
void capture_break(capture *c);
void capture_drop(capture *c);    // frees the capture; its graph belongs to the caller
void capture_abandon(capture *c); // frees the capture and its graph
// Whether this thread must not make a call that may synchronize now; if so, the captures are invalidated.
bool capture_forbids(const char *call);
bool capture_waits(const char *call, const context *ctx);
CUresult capture_note(const guard *g, stream *s, work w);
CUresult capture_wait(const guard *g, stream *s, event *e);
void capture_event(stream *s, event *e);
void event_uncapture(event *e);
void graph_nodes_free(graph_node *nodes, int n);
CUresult capture_touch(const guard *g, stream *s); // a call that is not possible on a stream being captured
bool capture_implicit(const guard *g, stream *s);  // whether the call uses the default stream during a capture

#endif
