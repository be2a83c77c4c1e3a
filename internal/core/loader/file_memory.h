/* Memory that is a private mapping of a file: what the system keeps of it, and who may write to it. */
#pragma once

#include <stddef.h>

/* Properties of memory. */
enum {
  TVMGO_FILE_MAPPED = 1,   /* all of it is private mappings of files, which can be read */
  TVMGO_FILE_WRITABLE = 2, /* some of it can be written, so that its content may differ from the file */
  TVMGO_FILE_CODE = 4      /* some of it can be executed */
};

/* The mappings of the process at one moment. */
typedef struct tvmgo_file_maps tvmgo_file_maps;
/* NULL if the system does not tell; no error is raised. */
tvmgo_file_maps* tvmgo_file_maps_read(void);
void tvmgo_file_maps_free(tvmgo_file_maps* maps);
/* The properties of n bytes; 0 if they are no private mapping of a file. maps may be NULL. */
int tvmgo_file_maps_find(const tvmgo_file_maps* maps, const void* p, size_t n);

/* Makes the pages of n bytes writable: writes stay in this process, and cost memory only then. -1 if the system
 * refuses; no error is raised. */
int tvmgo_file_unlock(const void* p, size_t n);

/* Releases the whole pages among n bytes of a mapping that was not written: they are read from the file again when they
 * are used again. */
void tvmgo_file_drop(const void* p, size_t n);

/* The same for memory of any kind: releases nothing unless it is a mapping that was not written. */
void tvmgo_file_release(const void* p, size_t n);

size_t tvmgo_page_size(void);
