/* Where indices count from, of a buffer whose offset is part of them. */
static void* tvmgo_base(const DLTensor* t, uint64_t size) {
  return t->data == NULL ? NULL : (char*)t->data + t->byte_offset % size;
}
