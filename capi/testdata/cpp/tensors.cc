// Tensors: allocated in C++, wrapped from DLPack of both versions, viewed, exported again.
#include "cpp_test.h"

using namespace tvm::ffi;

static int held = 0;  // allocations that are not freed yet

struct HostAlloc {
  void AllocData(DLTensor* t) {
    held++;
    t->data = std::aligned_alloc(64, (GetDataSize(*t) + 63) / 64 * 64 + 64);
  }
  void FreeData(DLTensor* t) {
    held--;
    std::free(t->data);
  }
};

static Tensor Make(ShapeView shape, DLDataType dtype = {kDLFloat, 32, 1}) {
  return Tensor::FromNDAlloc(HostAlloc(), shape, dtype, DLDevice{kDLCPU, 0});
}

TEST(tensors, allocated) {
  {
    Tensor t = Make({2, 3, 4});
    SAME(t.ndim() + t.dim(), 6);
    SAME(t.numel(), 24);
    SAME(t.size(0) * 100 + t.size(-1), 204);
    SAME(t.stride(0) * 100 + t.stride(-1), 1201);
    THROWS("IndexError", "out of bounds", t.size(3));
    CHECK(t.IsContiguous() && t.IsAligned(64));
    SAME(t.dtype(), (DLDataType{kDLFloat, 32, 1}));
    SAME(t.device().device_type, kDLCPU);
    SAME(GetDataSize(*t.GetDLTensorPtr()), 96u);
    SAME(Any(t).GetTypeKey(), "ffi.Tensor");
    SAME(held, 1);
    Tensor scalar = Make({});
    SAME(scalar.numel(), 1);
    Tensor empty = Make({0, 5});
    CHECK(empty.IsContiguous());
    Tensor strided = Tensor::FromNDAllocStrided(HostAlloc(), {2, 2}, {1, 2}, DLDataType{kDLInt, 8, 1},
        DLDevice{kDLCPU, 0});
    CHECK(!strided.IsContiguous());
    SAME(GetDataSize(5, DLDataType{kDLFloat4_e2m1fn, 4, 1}), 3u);
  }
  SAME(held, 0);
}

TEST(tensors, views) {
  Tensor view;
  CHECK(!view.defined());
  {
    Tensor t = Make({4, 6});
    float* data = static_cast<float*>(t.data_ptr());
    for (int i = 0; i < 24; i++) data[i] = i;
    view = t.as_strided({2, 3}, {12, 2}, 1);
    SAME(view.use_count(), 1);
    SAME(t.use_count(), 2);
  }
  SAME(held, 1);
  SAME(static_cast<float*>(view.data_ptr())[12 + 4], 17.0f);
  SAME(view.size(1), 3);
  CHECK(!view.IsContiguous());
  SAME(view.byte_offset(), 0u);
  view = view.as_strided({2}, {1});
  SAME(static_cast<float*>(view.data_ptr())[1], 2.0f);
  view = Tensor();
  SAME(held, 0);
  Tensor t = Make({2});
  TensorView borrowed(t);
  SAME(borrowed.numel(), 2);
  SAME(t.use_count(), 1);
}

struct Foreign {
  static int deleted;
  int64_t shape[2] = {2, 3}, strides[2] = {3, 1};
  alignas(64) float data[8] = {0, 1, 2, 3, 4, 5};
  DLTensor Describe(bool with_strides) {
    return DLTensor{data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, with_strides ? strides : nullptr, 0};
  }
};
int Foreign::deleted = 0;

template <typename M>
static M* Manage(Foreign* f, bool with_strides) {
  M* m = new M();
  m->dl_tensor = f->Describe(with_strides);
  m->manager_ctx = f;
  m->deleter = [](M* self) {
    Foreign::deleted++;
    delete static_cast<Foreign*>(self->manager_ctx);
    delete self;
  };
  return m;
}

TEST(tensors, from_dlpack) {
  Foreign::deleted = 0;
  for (bool with_strides : {false, true}) {
    Tensor a = Tensor::FromDLPack(Manage<DLManagedTensor>(new Foreign, with_strides), 64, true);
    auto* versioned = Manage<DLManagedTensorVersioned>(new Foreign, with_strides);
    versioned->version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    Tensor b = Tensor::FromDLPackVersioned(versioned);
    for (const Tensor& t : {a, b}) {
      SAME(t.stride(0), 3);
      SAME(static_cast<float*>(t.data_ptr())[5], 5.0f);
    }
  }
  SAME(Foreign::deleted, 4);
  auto* unaligned = Manage<DLManagedTensor>(new Foreign, true);
  unaligned->dl_tensor.data = reinterpret_cast<char*>(unaligned->dl_tensor.data) + 4;
  THROWS("RuntimeError", "aligned to 64", Tensor::FromDLPack(unaligned, 64));
  unaligned->deleter(unaligned);
}

template <typename M>
static Tensor ByLibrary(int (*take)(M*, int32_t, int32_t, TVMFFIObjectHandle*), M* m) {
  TVMFFIObjectHandle out;
  TVM_FFI_CHECK_SAFE_CALL(take(m, 0, 0, &out));
  return detail::ObjectUnsafe::ObjectRefFromObjectPtr<Tensor>(
      detail::ObjectUnsafe::ObjectPtrFromOwned<Object>(static_cast<TVMFFIObject*>(out)));
}

TEST(tensors, wrapped_by_the_library) {
  Foreign::deleted = 0;
  {
    Tensor a = ByLibrary(TVMFFITensorFromDLPack, Manage<DLManagedTensor>(new Foreign, false));
    auto* versioned = Manage<DLManagedTensorVersioned>(new Foreign, true);
    versioned->version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    Tensor b = ByLibrary(TVMFFITensorFromDLPackVersioned, versioned);
    SAME(a.stride(0) + b.stride(0), 6);
    Tensor part = b.as_strided({3}, {1}, 3);
    b = Tensor();
    SAME(static_cast<float*>(part.data_ptr())[0], 3.0f);
    DLManagedTensor* out = a.ToDLPack();
    a = Tensor();
    SAME(Foreign::deleted, 0);
    SAME(static_cast<float*>(out->dl_tensor.data)[4], 4.0f);
    out->deleter(out);
    SAME(Foreign::deleted, 1);
  }
  SAME(Foreign::deleted, 2);
}

TEST(tensors, exported) {
  {
    Tensor t = Make({3, 4});
    DLManagedTensorVersioned* mine = t.ToDLPackVersioned();
    TVMFFIObjectHandle handle = detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(t);
    DLManagedTensor* theirs;
    DLManagedTensorVersioned* theirs_versioned;
    TVM_FFI_CHECK_SAFE_CALL(TVMFFITensorToDLPack(handle, &theirs));
    TVM_FFI_CHECK_SAFE_CALL(TVMFFITensorToDLPackVersioned(handle, &theirs_versioned));
    SAME(t.use_count(), 4);
    SAME(theirs->dl_tensor.data, t.data_ptr());
    SAME(theirs_versioned->version.major, static_cast<uint32_t>(DLPACK_MAJOR_VERSION));
    SAME(theirs_versioned->dl_tensor.shape[1], 4);
    Tensor round = ByLibrary(TVMFFITensorFromDLPackVersioned, theirs_versioned);
    t = Tensor();
    SAME(held, 1);
    SAME(round.size(1), 4);
    mine->deleter(mine);
    theirs->deleter(theirs);
  }
  SAME(held, 0);
}

TEST(tensors, as_arguments) {
  Function sum = cpp_test::ThroughC(Function::FromTyped([](TensorView t) {
    double s = 0;
    for (int64_t i = 0; i < t.numel(); i++) s += static_cast<float*>(t.data_ptr())[i];
    return s;
  }));
  Tensor t = Make({2, 2});
  for (int i = 0; i < 4; i++) static_cast<float*>(t.data_ptr())[i] = i;
  SAME(sum(t).cast<double>(), 6.0);
  SAME(sum(const_cast<DLTensor*>(t.GetDLTensorPtr())).cast<double>(), 6.0);
  THROWS("TypeError", "DLTensor*", sum(1));
  Function identity = cpp_test::ThroughC(Function::FromTyped([](Tensor x) { return x; }));
  CHECK(identity(t).cast<Tensor>().same_as(t));
  THROWS("TypeError", "ffi.Tensor", identity("x"));
  Function optional = Function::FromTyped([](Optional<Tensor> x) { return x.has_value(); });
  CHECK(optional(t).cast<bool>() && !optional(nullptr).cast<bool>());
  Array<Tensor> list{t, t};
  Map<String, Tensor> map{{"t", t}};
  SAME(t.use_count(), 4);
  Tensor made = Function::GetGlobalRequired("runtime.TVMTensorAllocWithScope")(
                    Shape{4}, DLDataType{kDLInt, 32, 1}, DLDevice{kDLCPU, 0}, nullptr).cast<Tensor>();
  SAME(made.numel(), 4);
  SAME(made.stride(0), 1);
}
