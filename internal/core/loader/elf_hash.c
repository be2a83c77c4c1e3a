/* The hash tables of a file: ld.so follows them without checks, so every bucket and chain is checked here. They also
 * give the number of symbols that can be found. */
#include "loader/loader.h"
#include "loader/elf_check.h"

/* Bytes from vaddr to the end of its segment in the file. */
static uint64_t room_behind(const tvmgo_elf* elf, uint64_t vaddr) {
  const Elf64_Phdr* p = tvmgo_elf_load_at(elf, vaddr, 0, 1);
  return p == NULL ? 0 : p->p_filesz - (vaddr - p->p_vaddr);
}

/* The chains end with the first entry of bit 0 at or after the highest bucket. */
static int find_end(const tvmgo_elf* elf, uint64_t chains, uint32_t first, uint32_t highest,
                    uint64_t room, size_t* count) {
  uint32_t chunk[256];
  uint64_t i = highest - first, limit = room / 4;
  if (limit > elf->max_symbols - first) limit = elf->max_symbols - first;
  while (i < limit) {
    uint64_t n = limit - i < 256 ? limit - i : 256;
    if (tvmgo_elf_peek(elf, chains + i * 4, chunk, n * 4) != 0) return -1;
    for (uint64_t k = 0; k < n; k++)
      if (chunk[k] & 1) {
        *count = (size_t)(first + i + k + 1);
        return 0;
      }
    i += n;
  }
  return tvmgo_elf_corrupt(elf, "a chain of the hash table has no end");
}

static int check_gnu_hash(tvmgo_elf* elf) {
  tvmgo_elf_table* t = &elf->gnu_hash;
  uint32_t head[4]; /* buckets, first symbol, words of the filter, shift */
  if (tvmgo_elf_peek(elf, t->offset, head, sizeof head) != 0) return -1;
  uint64_t fixed = 16 + (uint64_t)head[2] * 8 + (uint64_t)head[0] * 4;
  uint64_t room = room_behind(elf, t->vaddr);
  if (head[2] == 0 || (head[2] & (head[2] - 1)) != 0 || head[3] > 63 || fixed > room ||
      head[1] > elf->max_symbols)
    return tvmgo_elf_corrupt(elf, "the hash table does not fit into the file");
  t->size = fixed;
  t->data = tvmgo_elf_read(elf, t->offset, fixed);
  if (t->data == NULL) return -1;
  const uint32_t* buckets = (const uint32_t*)((char*)t->data + 16 + (uint64_t)head[2] * 8);
  uint32_t highest = 0;
  for (uint32_t i = 0; i < head[0]; i++) {
    if (buckets[i] == 0) continue;
    if (buckets[i] < head[1] || buckets[i] >= elf->max_symbols)
      return tvmgo_elf_corrupt(elf, "a bucket of the hash table names no symbol");
    if (buckets[i] > highest) highest = buckets[i];
  }
  if (highest == 0) return 0;
  return find_end(elf, t->offset + fixed, head[1], highest, room - fixed, &elf->num_hashed);
}

static int check_sysv_hash(tvmgo_elf* elf) {
  tvmgo_elf_table* t = &elf->hash;
  uint32_t head[2]; /* buckets, symbols */
  if (tvmgo_elf_peek(elf, t->offset, head, sizeof head) != 0) return -1;
  uint64_t size = 8 + ((uint64_t)head[0] + head[1]) * 4, steps = 0;
  if (size > room_behind(elf, t->vaddr) || head[1] > elf->max_symbols)
    return tvmgo_elf_corrupt(elf, "the hash table does not fit into the file");
  t->size = size;
  t->data = tvmgo_elf_read(elf, t->offset, size);
  if (t->data == NULL) return -1;
  const uint32_t *buckets = (const uint32_t*)t->data + 2, *chains = buckets + head[0];
  for (uint32_t i = 0; i < head[0]; i++)
    for (uint32_t s = buckets[i]; s != 0; s = chains[s])
      if (s >= head[1] || ++steps > head[1]) /* each symbol is in one chain */
        return tvmgo_elf_corrupt(elf, "a chain of the hash table has no end");
  if (elf->num_hashed < head[1]) elf->num_hashed = head[1];
  return 0;
}

int tvmgo_elf_check_hash(tvmgo_elf* elf) {
  if (elf->gnu_hash.vaddr != 0 && check_gnu_hash(elf) != 0) return -1;
  if (elf->hash.vaddr != 0 && check_sysv_hash(elf) != 0) return -1;
  return 0;
}
