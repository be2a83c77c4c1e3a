static void* tvmgo_data(const DLTensor* t) { return t->data == NULL ? NULL : (char*)t->data + t->byte_offset; }
