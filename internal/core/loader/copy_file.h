/* Copies of files: in memory, or without a name. */
#pragma once

#include <stdint.h>

/* An empty file in memory, which can be mapped as code and sealed. name is what /proc/self/maps shows. -1 with errno:
 * the system has none, or forbids it. */
int tvmgo_memory_file(const char* name);

/* The folder for temporary files, $TMPDIR or /tmp; at most TVMGO_FOLDER_MOST bytes. */
enum { TVMGO_FOLDER_MOST = 200 };
const char* tvmgo_temporary_folder(void);

/* An empty file in the folder for temporary files. It has no name, so that no other user can open it, and nothing is
 * left of it when the process is killed. -1 with errno. */
int tvmgo_nameless_file(void);

/* Whether code in a file must not be executed, because its file system is mounted so: fd, or path if fd < 0. errno is
 * kept. */
int tvmgo_is_noexec(int fd, const char* path);

/* Whether an open file has a path, /proc/self/fd/N: without it ld.so cannot open one. */
int tvmgo_has_descriptor_paths(void);

/* Copies the first size bytes of a file. 0; -1 with errno; 1 if the file is shorter. */
int tvmgo_copy_file(int from, int to, uint64_t size);

/* Writes all bytes. 0; -1 with errno. */
int tvmgo_write_at(int fd, const void* data, uint64_t size, uint64_t offset);

/* Forbids to change the size of a memory file from now on, or also its bytes. Without effect on other files. */
void tvmgo_seal_size(int fd);
void tvmgo_seal_bytes(int fd);
int tvmgo_is_sealed(int fd); /* whether its size cannot change */
