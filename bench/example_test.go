package bench_test

import (
	"context"
	"fmt"
	"time"

	"tvmgo/bench"
)

// sum is an operation of the host: the sum of some numbers.
type sum struct {
	numbers []float32
	total   float32
}

func (s *sum) Amount() bench.Amount {
	return bench.Amount{Ops: float64(len(s.numbers)), Bytes: 4 * float64(len(s.numbers))}
}

func (s *sum) Check(context.Context) (string, error) {
	s.add()
	if want := float32(len(s.numbers)); s.total != want {
		return "", fmt.Errorf("the sum is %v, expected %v: %w", s.total, want, bench.ErrWrongResult)
	}
	return "the sum", nil
}

func (s *sum) add() {
	s.total = 0
	for _, x := range s.numbers {
		s.total += x
	}
}

func (s *sum) Run(_ context.Context, n int) (bench.Elapsed, error) {
	began := time.Now()
	for range n {
		s.add()
	}
	return bench.Elapsed{Wall: time.Since(began)}, nil
}

func (s *sum) Facts() bench.Facts { return bench.Facts{"elements": len(s.numbers)} }

func (s *sum) Close() error { return nil }

// A Go function is measured on the host. A device's operation embeds bench.Calls, which has Run and Close.
func ExampleRun() {
	open := func(context.Context, *bench.Device) (bench.Work, error) {
		s := &sum{numbers: make([]float32, 1000)}
		for i := range s.numbers {
			s.numbers[i] = 1
		}
		return s, nil
	}
	cases := []*bench.Case{{Suite: "mine", Name: "sum", Figure: bench.Bandwidth,
		Variants: []bench.Variant{{Open: open}}}}
	config := bench.Config{Rounds: 6, Sample: time.Millisecond, WarmUp: 20 * time.Millisecond}
	report, err := bench.Run(context.Background(), config, cases, []*bench.Device{{Name: "host"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	row := report.Rows[0]
	fmt.Println(row.ID(), row.Status, "by", row.Clock, "after checking", row.Checked)
	fmt.Println(row.Times.Samples, "samples in", row.Unit, row.Value > 0)
	// Output:
	// mine/sum on host measured by wall time after checking the sum
	// 6 samples in GB/s true
}

// A run that is half as fast as the one before is a regression.
func ExampleReport_CompareWith() {
	run := func(took time.Duration) *bench.Report {
		open := func(context.Context, *bench.Device) (bench.Work, error) {
			return &synthetic{times: []time.Duration{took}}, nil
		}
		report, err := bench.Run(context.Background(), bench.Config{}, []*bench.Case{{Suite: "mine", Name: "kernel",
			Variants: []bench.Variant{{Open: open}}}}, []*bench.Device{{Name: "gpu"}})
		if err != nil {
			fmt.Println(err)
		}
		return report
	}
	report := run(20 * time.Millisecond)
	for _, row := range report.CompareWith(run(10 * time.Millisecond)) {
		fmt.Println(row.ID(), row.Change.Verdict, row.Change.Ratio.Value)
	}
	// Output:
	// mine/kernel on gpu slower 2
}
