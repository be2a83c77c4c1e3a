/* One parameter of one function, for errors. */
typedef struct {
  const char* function;
  int index;
  const char* name;
  const char* type;
} tvmgo_parameter;
#define TVMGO_AT "%s: argument %d (%s): "
#define TVMGO_OF(p) (p)->function, (p)->index, (p)->name
