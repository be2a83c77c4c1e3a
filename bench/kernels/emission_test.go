package kernels

import "testing"

func BenchmarkEmission(b *testing.B) {
	for _, kind := range []string{"cuda", "vulkan"} {
		b.Run(kind, func(b *testing.B) {
			e, err := NewEmission(kind)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := e.Run(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*e.Kernels), "us/kernel")
		})
	}
}
