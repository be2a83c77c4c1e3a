// Graphs: work that a capture recorded, instantiated, and launched on a stream.
#include <stdlib.h>

#include "fake.h"

void graph_nodes_free(graph_node *nodes, int n) {
  for (int i = 0; i < n; i++) {
    work_done(&nodes[i].w);
    free(nodes[i].deps);
  }
  free(nodes);
}

static graph_node *nodes_copy(const graph_node *from, int n) {
  graph_node *nodes = calloc((size_t)n + 1, sizeof *nodes);
  for (int i = 0; i < n; i++) {
    nodes[i].w = work_copy(&from[i].w);
    nodes[i].deps = malloc((size_t)(from[i].ndeps + 1) * sizeof(int));
    nodes[i].ndeps = from[i].ndeps;
    if (from[i].ndeps) memcpy(nodes[i].deps, from[i].deps, (size_t)from[i].ndeps * sizeof(int));
  }
  return nodes;
}

static bool conflict(const access_range *a, const access_range *b) {
  return (a->write || b->write) && a->at < b->at + b->bytes && b->at < a->at + a->bytes;
}

// Nodes that access the same bytes must be ordered in the graph, even if this fake happens to run them in that order.
static void check_order(const guard *g, const graph_node *nodes, int n) {
  bool *before = calloc((size_t)n * (size_t)n + 1, 1); // before[i*n+k]: k is done before i
  for (int i = 0; i < n; i++) {
    for (int d = 0; d < nodes[i].ndeps; d++) {
      int k = nodes[i].deps[d];
      before[i * n + k] = true;
      for (int m = 0; m < n; m++) before[i * n + m] |= before[k * n + m];
    }
    access_range mine[MAX_ACCESS], other[MAX_ACCESS];
    int nmine = work_accesses(&nodes[i].w, mine);
    for (int k = 0; k < i; k++) {
      if (before[i * n + k]) continue;
      int nother = work_accesses(&nodes[k].w, other);
      for (int a = 0; a < nmine; a++) {
        for (int b = 0; b < nother; b++) {
          if (!conflict(&mine[a], &other[b])) continue;
          report("%s: in the graph %s %s bytes at 0x%llx that %s %s: nothing orders them", g->name, nodes[i].w.call,
                 mine[a].write ? "writes" : "reads", mine[a].at, nodes[k].w.call, other[b].write ? "writes" : "reads");
          a = nmine;
          break;
        }
      }
    }
  }
  free(before);
}

static CUresult instantiate(const guard *g, CUgraphExec *out, CUgraph handle) {
  graph *gr = object_find(g, handle, GRAPH);
  if (!gr) return CUDA_ERROR_INVALID_HANDLE;
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  check_order(g, gr->nodes, gr->nnodes);
  graph_exec *e = calloc(1, sizeof *e);
  e->nodes = nodes_copy(gr->nodes, gr->nnodes);
  e->nnodes = gr->nnodes;
  object_add(&e->o, EXEC, gr->o.ctx);
  *out = e;
  return CUDA_SUCCESS;
}

API CUresult cuGraphInstantiate_v2(CUgraphExec *out, CUgraph gr, CUgraphNode *node, char *log, size_t size) {
  ENTER(0);
  if (node) *node = NULL;
  if (log && size) *log = 0;
  return instantiate(&g, out, gr);
}

API CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph gr, unsigned long long flags) {
  ENTER(0);
  if (flags & ~15ull) return CUDA_ERROR_INVALID_VALUE;
  return instantiate(&g, out, gr);
}

// The memory and the kernels that a node uses must still exist.
static CUresult check_alive(const guard *g, const graph_node *n) {
  access_range ranges[MAX_ACCESS];
  if (n->w.kind == DO_KERNEL) {
    if (!n->w.function->o.alive) {
      report("%s: kernel %s of the graph is of a module that was unloaded", g->name, n->w.function->entry->name);
      return CUDA_ERROR_INVALID_HANDLE;
    }
    return CUDA_SUCCESS; // its pointers are checked when it runs
  }
  int count = work_accesses(&n->w, ranges);
  for (int i = 0; i < count; i++) {
    CUresult result = range_check(g, ranges[i].what, ranges[i].at, ranges[i].bytes, false, NULL);
    if (result) return result;
  }
  return CUDA_SUCCESS;
}

API CUresult cuGraphLaunch(CUgraphExec handle, CUstream on) {
  ENTER(0);
  graph_exec *e = object_find(&g, handle, EXEC);
  stream *s;
  if (!e) return CUDA_ERROR_INVALID_HANDLE;
  CUresult result = stream_find(&g, on, &s);
  if (result) return result;
  if (s->capture) return capture_touch(&g, s); // the fake does not support child graphs
  if (capture_implicit(&g, s)) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  for (int i = 0; i < e->nnodes && !result; i++) result = check_alive(&g, &e->nodes[i]);
  if (result) return result;
  // Launches of one graph never overlap: they run one after the other, even on different streams.
  op *first = op_enqueue(s, (work){.kind = DO_MARK, .call = g.name}, &e->last, 1);
  op_drop(first);
  for (int i = 0; i < e->nnodes; i++) op_drop(op_enqueue(s, work_copy(&e->nodes[i].w), NULL, 0));
  op_drop(e->last);
  e->last = op_hold(s->last);
  return CUDA_SUCCESS;
}

API CUresult cuGraphExecDestroy(CUgraphExec handle) {
  ENTER(F_RELEASE);
  graph_exec *e = object_find(&g, handle, EXEC);
  if (!e) return CUDA_ERROR_INVALID_HANDLE;
  graph_nodes_free(e->nodes, e->nnodes); // launches have copies
  e->nodes = NULL;
  e->nnodes = 0;
  op_drop(e->last);
  e->last = NULL;
  object_kill(&e->o);
  return g.fault;
}

API CUresult cuGraphDestroy(CUgraph handle) {
  ENTER(F_RELEASE);
  graph *gr = object_find(&g, handle, GRAPH);
  if (!gr) return CUDA_ERROR_INVALID_HANDLE;
  graph_nodes_free(gr->nodes, gr->nnodes);
  gr->nodes = NULL;
  gr->nnodes = 0;
  object_kill(&gr->o);
  return g.fault;
}

