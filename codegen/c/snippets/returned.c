/* The function ends here, without an error. */
#define TVMGO_RETURNED INT32_MAX
