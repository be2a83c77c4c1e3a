/* Part of tvmgo/tvmgo.hpp: Stream, a queue of work of a device. */
#ifndef TVMGO_STREAM_HPP_
#define TVMGO_STREAM_HPP_

#include <tvm/runtime/c_runtime_api.h>
#include <tvmgo/device.hpp>
#include <tvmgo/error.hpp>

#include <string>
#include <utility>

namespace tvmgo {

/* A stream of a device. The destructor frees it when its work is done. On devices with a single queue its handle is
 * NULL. */
class Stream {
 public:
  explicit Stream(Device device) : device_(device) {
    detail::check(TVMStreamCreate(device.type(), device.id(), &handle_));
  }
  Stream(Stream&& other) noexcept : device_(other.device_), handle_(std::exchange(other.handle_, nullptr)) {}
  Stream& operator=(Stream&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() {
    if (handle_ != nullptr) TVMStreamFree(device_.type(), device_.id(), handle_);
  }

  Device device() const noexcept { return device_; }
  TVMStreamHandle handle() const noexcept { return handle_; }

  /* Waits until the queued work is done. Fails if that work failed. */
  void sync() const { detail::check(TVMSynchronize(device_.type(), device_.id(), handle_)); }
  /* Makes later work of this stream wait for the work that is now queued on `other`, a stream of the same device. Does
   * not block. */
  void wait_for(const Stream& other) const {
    if (device_ != other.device_)
      throw Error("ValueError",
          "a stream of " + device_.str() + " cannot wait for one of " + other.device_.str() + ": sync that one");
    detail::check(TVMStreamStreamSynchronize(device_.type(), device_.id(), other.handle_, handle_));
  }

  /* Makes a stream the current stream of the calling thread until the Scope is destroyed. Then the stream of the
   * enclosing scope is current again, or the default stream. The stream must outlive the Scope, which must be destroyed
   * on the thread that created it. */
  class Scope {
   public:
    explicit Scope(const Stream& stream) : device_(stream.device_), handle_(stream.handle_), outer_(innermost()) {
      detail::check(TVMSetStream(device_.type(), device_.id(), handle_));
      innermost() = this;
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() {
      innermost() = outer_;
      const Scope* s = outer_;
      while (s != nullptr && s->device_ != device_) s = s->outer_;
      TVMSetStream(device_.type(), device_.id(), s == nullptr ? nullptr : s->handle_);
    }

   private:
    static const Scope*& innermost() noexcept {
      static thread_local const Scope* top = nullptr;
      return top;
    }
    Device device_;
    TVMStreamHandle handle_;
    const Scope* outer_;
  };

 private:
  Device device_;
  TVMStreamHandle handle_ = nullptr;
};

}  // namespace tvmgo

#endif  // TVMGO_STREAM_HPP_
