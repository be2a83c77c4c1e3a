/* Copies of files, by sendfile where it can. */
#include "loader/loader.h"
#include "loader/copy_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/statvfs.h>
#include <unistd.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x10u
#endif

/* ---- places for copies ---- */

int tvmgo_memory_file(const char* name) {
  char shown[64];
  const char* slash = strrchr(name, '/');
  snprintf(shown, sizeof shown, "tvmgo:%s", slash == NULL ? name : slash + 1);
  int fd = memfd_create(shown, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
  /* Kernels before 6.3 do not know the last flag, and do not need it. */
  return fd < 0 && errno == EINVAL ? memfd_create(shown, MFD_CLOEXEC | MFD_ALLOW_SEALING) : fd;
}

const char* tvmgo_temporary_folder(void) {
  const char* dir = getenv("TMPDIR");
  /* ld.so replaces words that begin with $ in the path of a library. */
  return dir == NULL || dir[0] != '/' || strchr(dir, '$') != NULL || strlen(dir) > TVMGO_FOLDER_MOST ? "/tmp" : dir;
}

int tvmgo_nameless_file(void) {
  const char* dir = tvmgo_temporary_folder();
  char path[TVMGO_FOLDER_MOST + sizeof "/tvmgo-XXXXXX"];
  int fd = open(dir, O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600); /* O_EXCL: it never gets a name */
  if (fd >= 0) return fd;
  snprintf(path, sizeof path, "%s/tvmgo-XXXXXX", dir);
  fd = mkostemp(path, O_CLOEXEC);
  if (fd >= 0) unlink(path);
  return fd;
}

int tvmgo_is_noexec(int fd, const char* path) {
  struct statvfs s;
  int why = errno, rc = fd >= 0 ? fstatvfs(fd, &s) : statvfs(path, &s);
  errno = why;
  return rc == 0 && (s.f_flag & ST_NOEXEC) != 0;
}

int tvmgo_has_descriptor_paths(void) { return access("/proc/self/fd", X_OK) == 0; }

/* ---- bytes ---- */

int tvmgo_write_at(int fd, const void* data, uint64_t size, uint64_t offset) {
  for (uint64_t done = 0; done < size;) {
    ssize_t n = pwrite(fd, (const char*)data + done, size - done, (off_t)(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return -1;
    done += (uint64_t)n;
  }
  return 0;
}

/* For file systems that sendfile cannot read from. */
static int copy_by_hand(int from, int to, uint64_t at, uint64_t size) {
  enum { CHUNK = 1 << 16 };
  char* buffer = malloc(CHUNK);
  if (buffer == NULL) return -1;
  int rc = 0;
  while (rc == 0 && at < size) {
    ssize_t n = pread(from, buffer, size - at < CHUNK ? size - at : CHUNK, (off_t)at);
    if (n < 0 && errno == EINTR) continue;
    rc = n < 0 ? -1 : n == 0 ? 1 : tvmgo_write_at(to, buffer, (uint64_t)n, at);
    if (rc == 0) at += (uint64_t)n;
  }
  int why = errno;
  free(buffer);
  errno = why;
  return rc;
}

int tvmgo_copy_file(int from, int to, uint64_t size) {
  off_t at = 0;
  while ((uint64_t)at < size) {
    ssize_t n = sendfile(to, from, &at, size - (uint64_t)at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == ENOSPC || errno == ENOMEM || errno == EIO)) return -1;
    if (n <= 0) return copy_by_hand(from, to, (uint64_t)at, size);
  }
  return 0;
}

void tvmgo_seal_size(int fd) { (void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW); }
void tvmgo_seal_bytes(int fd) { (void)fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SEAL); }

int tvmgo_is_sealed(int fd) {
  int seals = fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_GROW) != 0; /* a file of a tmpfs has seals, but not this one */
}
