/* Hash and equality of values as keys. */
#include "ctest/check.h"

#include <stdlib.h>

#include "container/map_internal.h"

static TVMFFIAny raw(const char* s) {
  return (TVMFFIAny){.type_index = kTVMFFIRawStr, .v_c_str = s};
}

static TVMFFIObject* big_int(const int64_t* words, size_t n) {
  TVMFFIObject* o =
      tvmgo_object_new(sizeof *o + 8 + 8 * n, kTVMFFIBigInt, tvmgo_object_plain_deleter);
  memcpy(o + 1, &n, 8);
  memcpy((char*)(o + 1) + 8, words, 8 * n);
  return o;
}

/* Numbers that the tvm-ffi 0.1.15 C++ headers compute. */
static void test_hash_known_numbers(void) {
  static const int64_t words[2] = {INT64_C(0x0123456789abcdef), 7};
  TVMFFIByteArray hello = {"hello world", 11}, a = {"a", 1};
  TVMFFIObject* big = big_int(words, 2);
  const struct {
    TVMFFIAny v;
    uint64_t want;
  } cases[] = {
      {tvmgo_any_none(), 2654435769u},
      {tvmgo_any_int(0), 2654435832u},
      {tvmgo_any_int(1), 2654435835u},
      {tvmgo_any_int(-1), 2654435833u},
      {tvmgo_any_bool(1), 2654435896u},
      {{.type_index = kTVMFFIFloat, .v_float64 = 1.0}, 4607182421454453370u},
      {raw(""), 2654440008u},
      {raw("a"), 2654439979u},
      {raw("1234567"), 3537447141u},
      {raw("12345678"), 3269011684u},
      {raw("hello world"), 3740341141u},
      {raw("0123456789abcdef"), 2870813492u},
      {raw("\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8\xf7\xf6"), 4416977675u},
      {{.type_index = kTVMFFIByteArrayPtr, .v_ptr = &a}, 2654440168u},
      {{.type_index = kTVMFFIByteArrayPtr, .v_ptr = &hello}, 3740341334u},
      {{.type_index = kTVMFFIDataType, .v_dtype = {2, 32, 1}}, 2654509817u},
      {{.type_index = kTVMFFIDevice, .v_device = {kDLCUDA, 1}}, 6949403450u},
      {tvmgo_any_object(big), 3484800023u},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    CHECK_EQ_INT(tvmgo_any_hash(&cases[i].v), cases[i].want);
    TVMFFIAny owned; /* a view and its owned form are one key */
    CHECK_OK(TVMFFIAnyViewToOwnedAny(&cases[i].v, &owned));
    CHECK_EQ_INT(tvmgo_any_hash(&owned), cases[i].want);
    CHECK(tvmgo_any_equal(&owned, &cases[i].v) && tvmgo_any_equal(&cases[i].v, &owned));
    for (size_t j = 0; j < sizeof cases / sizeof *cases; j++)
      CHECK_EQ_INT(tvmgo_any_equal(&owned, &cases[j].v), i == j);
    tvmgo_any_clear(&owned);
  }
  TVMFFIObject* same = big_int(words, 2);
  TVMFFIAny x = tvmgo_any_object(big), y = tvmgo_any_object(same);
  CHECK(tvmgo_any_equal(&x, &y));
  CHECK_EQ_INT(tvmgo_any_hash(&y), 3484800023u);
  tvmgo_object_release(same);
  tvmgo_object_release(big);
}

/* The hash of docs/abi.md B.11, byte by byte. */
static uint64_t plain_hash(const unsigned char* text, size_t size) {
  uint64_t h = 0, k = kTVMFFIStr;
  for (size_t i = 0; i < size; i += 8) {
    uint64_t w = 0;
    for (size_t j = 0; j < 8 && i + j < size; j++) w |= (uint64_t)text[i + j] << (8 * j);
    h = (h * UINT64_C(1099511628211) + w) % 2147483647;
  }
  return k ^ (h + 0x9e3779b9 + (k << 6) + (k >> 2));
}

/* Texts of every length with special treatment, each in its own block that ends with the text. */
static void test_texts_of_every_length(void) {
  for (size_t n = 0; n <= 150; n++) {
    unsigned char *a = malloc(n + (n == 0)), *b = malloc(n + (n == 0));
    for (size_t i = 0; i < n; i++) a[i] = b[i] = (unsigned char)(i * 37 + n * 11 + 129);
    TVMFFIByteArray x = {(char*)a, n}, y = {(char*)b, n};
    TVMFFIAny made, other = {.type_index = kTVMFFIByteArrayPtr, .v_ptr = &y};
    CHECK_OK(TVMFFIStringFromByteArray(&x, &made));
    CHECK_EQ_INT(tvmgo_any_hash(&made), plain_hash(a, n));
    CHECK(!tvmgo_any_equal(&made, &other)); /* str and bytes */
    TVMFFIByteArray copy;
    CHECK(tvmgo_any_text(&made, &copy) && copy.size == n && memcmp(copy.data, a, n) == 0);
    CHECK_EQ_INT(copy.data[n], 0);
    for (size_t i = 0; i <= n; i++) {
      TVMFFIAny again;
      if (i < n) b[i] ^= 0x80;
      CHECK_OK(TVMFFIStringFromByteArray(&y, &again));
      CHECK_EQ_INT(tvmgo_any_equal(&made, &again), i == n);
      CHECK_EQ_INT(tvmgo_any_equal(&again, &made), i == n);
      tvmgo_any_clear(&again);
      if (i < n) b[i] ^= 0x80;
    }
    TVMFFIAny shorter;
    y.size = n == 0 ? 0 : n - 1;
    CHECK_OK(TVMFFIStringFromByteArray(&y, &shorter));
    CHECK_EQ_INT(tvmgo_any_equal(&made, &shorter), n == 0);
    tvmgo_any_clear(&shorter);
    tvmgo_any_clear(&made);
    free(a);
    free(b);
  }
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  RUN(test_hash_known_numbers);
  RUN(test_texts_of_every_length);
  return check_end();
}
