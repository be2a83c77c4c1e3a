/* How similar two names are, for messages that suggest one. */
#include "object/text.h"

#include <limits.h>

enum { LONGEST = 64 };

int tvmgo_text_distance(const TVMFFIByteArray* a, const TVMFFIByteArray* b) {
  int row[LONGEST + 1];
  if (a->size > LONGEST || b->size > LONGEST) return INT_MAX;
  for (size_t j = 0; j <= b->size; j++) row[j] = (int)j;
  for (size_t i = 1; i <= a->size; i++) {
    int diagonal = row[0];
    row[0] = (int)i;
    for (size_t j = 1; j <= b->size; j++) {
      int change = diagonal + (a->data[i - 1] != b->data[j - 1]);
      diagonal = row[j];
      if (row[j - 1] + 1 < change) change = row[j - 1] + 1;
      if (row[j] + 1 < change) change = row[j] + 1;
      row[j] = change;
    }
  }
  return row[b->size];
}
