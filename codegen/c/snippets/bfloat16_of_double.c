static inline float tvmgo_round_bfloat16_of_double(double x) { return tvmgo_from_bfloat16(tvmgo_narrow(x, 7, 127)); }
