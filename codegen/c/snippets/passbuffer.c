/* A kernel's argument: a buffer, by its handle; a part of one by the tensor. */
static void tvmgo_pass_buffer(TVMFFIAny* a, void* data, const DLTensor* t) {
  const int whole = t->byte_offset == 0 || tvmgo_is_empty(t);
  a->type_index = whole ? kTVMFFIOpaquePtr : kTVMFFIDLTensorPtr;
  a->v_ptr = whole ? data : (void*)(uintptr_t)t;
}
