static inline float tvmgo_round_float16_of_double(double x) { return tvmgo_from_float16(tvmgo_narrow(x, 10, 15)); }
