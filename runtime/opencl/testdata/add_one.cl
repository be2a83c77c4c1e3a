__kernel void add_one(__global float* x) { x[get_global_id(0)] += 1; }
