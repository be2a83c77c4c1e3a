// One work item adds one element; the launch has as many as there are (see "tvmgo pack" in examples/demo.sh).
__kernel void add(__global const float* a, __global const float* b, __global float* c) {
  size_t i = get_global_id(0);
  c[i] = a[i] + b[i];
}
