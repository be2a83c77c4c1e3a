static void tvmgo_let_go(const TVMFFIAny* result) {
  if (result->type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(result->v_obj);
}
