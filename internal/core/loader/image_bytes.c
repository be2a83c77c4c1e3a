/* The bytes of the file that an image was opened from. */
#include "loader/loader.h"
#include "loader/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_unchanged(const struct stat* then, const struct stat* now) {
  return then->st_dev == now->st_dev && then->st_ino == now->st_ino && then->st_size == now->st_size &&
         then->st_mtim.tv_sec == now->st_mtim.tv_sec && then->st_mtim.tv_nsec == now->st_mtim.tv_nsec;
}

static int read_all(int fd, char* to, size_t size) {
  size_t done = 0;
  while (done < size) {
    ssize_t n = pread(fd, to + done, size - done, (off_t)done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return -1;
    done += (size_t)n;
  }
  return 0;
}

static int read_file(const tvmgo_image* image, int fd, const struct stat* then, TVMFFIAny* out) {
  struct stat now;
  if (fstat(fd, &now) != 0 || !is_unchanged(then, &now))
    return tvmgo_raise(TVMGO_RUNTIME_ERROR,
                       "save %s: the file was changed since it was loaded: load it again", image->name);
  size_t size = (size_t)now.st_size;
  char* buf = malloc(size);
  if (buf == NULL) return tvmgo_raise_oom();
  int rc = read_all(fd, buf, size) == 0
               ? tvmgo_bytes_make(buf, size, out)
               : tvmgo_raise_system(errno, TVMGO_RUNTIME_ERROR, "save %s: it cannot be read: %s", image->name,
                                    strerror(errno));
  free(buf);
  return rc;
}

int tvmgo_image_file_bytes(const tvmgo_image* image, TVMFFIAny* out) {
  const tvmgo_mapping* m = image->priv;
  if (m->file.st_ino == 0)
    return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR,
                       "save %s: it was loaded from memory, and its bytes were not kept: keep them, or "
                       "load it from a file",
                       image->name);
  int fd = open(image->name, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return tvmgo_raise_system(errno, TVMGO_NOT_FOUND_ERROR, "save %s: the file that it was loaded from: %s",
        image->name,
                              strerror(errno));
  int rc = read_file(image, fd, &m->file, out);
  close(fd);
  return rc;
}
