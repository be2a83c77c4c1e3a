package bench

import "tvmgo/bench/stats"

// Evaluate computes what follows from the samples of a report's rows: figures, ratios, shares of limits, and positions
// in the roofline. [Run] calls it; call it again after a change of the rows, such as rows of another process.
func Evaluate(r *Report) {
	first := map[string]*Row{} // of each case
	byID := map[string]*Row{}
	for _, row := range r.Rows {
		row.Times, row.Value, row.Range, row.Ratio, row.Shares, row.Roofline = nil, 0, nil, nil, nil, nil
		if len(row.Samples) == 0 {
			continue
		}
		row.evaluate(r.Config.Confidence)
		byID[row.ID()] = row
		if of := row.Family + " on " + row.Device; row.Family != "" && row.Variant == "" && row.betterThan(byID[of]) {
			byID[of] = row
		}
		id := row.Suite + "/" + row.Case
		if first[id] == nil {
			first[id] = row
			continue
		}
		if a, b := paired(row, first[id]); len(a) > 0 {
			row.Ratio = &Ratio{To: first[id].ID(), Interval: stats.Ratio(a, b, r.Config.Confidence)}
		}
	}
	for _, row := range r.Rows {
		if row.Times != nil {
			row.compareWithLimits(byID)
		}
	}
}

func (r *Row) evaluate(confidence float64) {
	s := stats.Summarize(r.Samples)
	r.Times, r.Value = &s, r.Figure.Of(r.Amount, s.P50)
	of := stats.MedianInterval(r.Samples, confidence)
	a, b := r.Figure.Of(r.Amount, of.Low), r.Figure.Of(r.Amount, of.High)
	r.Range = &stats.Interval{Value: r.Value, Low: min(a, b), High: max(a, b), Confidence: confidence}
}

// betterThan reports whether a row's figure is better than that of a row with the same figure; nil is worse.
func (r *Row) betterThan(x *Row) bool {
	if x == nil || !r.Figure.Rate() {
		return x == nil || r.Value < x.Value
	}
	return r.Value > x.Value
}

// paired returns the samples of two rows from the rounds that both have. If one of them has no device timer, both are
// compared by the wall clock.
func paired(x, y *Row) (a, b []float64) {
	of := func(r *Row) map[int]float64 {
		times, by := r.Samples, map[int]float64{}
		if x.Clock != y.Clock && r.Clock == ClockDevice {
			times = r.Wall
		}
		for i, round := range r.Rounds {
			by[round] = times[i]
		}
		return by
	}
	in := of(y)
	mine := of(x)
	for _, round := range x.Rounds {
		if t, both := in[round]; both {
			a, b = append(a, mine[round]), append(b, t)
		}
	}
	return a, b
}

// compareWithLimits sets the shares of the limits that the run has measured on the same device, and the roofline of a
// row with both a rate of operations and a bandwidth among its limits.
func (r *Row) compareWithLimits(rows map[string]*Row) {
	var flops, bandwidth float64
	highest := 0.0 // rate of operations
	for _, id := range r.Limits {
		if limit := rows[id+" on "+r.Device]; limit != nil && (limit.Figure == Flops || limit.Figure == IntOps) {
			highest = max(highest, limit.Value)
		}
	}
	for _, id := range r.Limits {
		limit := rows[id+" on "+r.Device]
		if limit == nil || limit.Value <= 0 {
			continue
		}
		if (limit.Figure == Flops || limit.Figure == IntOps) && limit.Value < highest {
			continue
		}
		share := 0.0
		switch limit.Figure {
		case Flops, IntOps:
			flops, share = limit.Value, r.Amount.Ops/r.Times.P50/limit.Value
		case Bandwidth:
			bandwidth, share = limit.Value, r.Amount.Bytes/r.Times.P50/limit.Value
		case Time: // the latency of a launch, for example: its part of the time
			share = limit.Times.P50 / r.Times.P50
		}
		if share > 0 {
			r.Shares = append(r.Shares, Share{Of: limit.ID(), Share: share})
		}
	}
	if flops > 0 && bandwidth > 0 && r.Amount.Ops > 0 && r.Amount.Bytes > 0 {
		line := &Roofline{Intensity: r.Amount.Ops / r.Amount.Bytes, Bound: "compute", Limit: flops}
		if m := line.Intensity * bandwidth; m < flops {
			line.Bound, line.Limit = "memory", m
		}
		line.Share = r.Amount.Ops / r.Times.P50 / line.Limit
		r.Roofline = line
	}
}
