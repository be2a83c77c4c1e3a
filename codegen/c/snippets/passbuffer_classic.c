/* A kernel's argument: a buffer, by its handle; a part of one by the tensor. */
static void tvmgo_pass_buffer(TVMValue* a, int* code, void* data, const DLTensor* t) {
  const int whole = t->byte_offset == 0 || tvmgo_is_empty(t);
  *code = whole ? kTVMOpaqueHandle : kTVMDLTensorHandle;
  a->v_handle = whole ? data : (void*)(uintptr_t)t;
}
