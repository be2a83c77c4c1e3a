/* One parameter of one function, for errors. */
typedef struct {
  const char* function;
  int index;
  const char* name;
  const char* type;
} tvmgo_parameter;
