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
		if row.Status == Failed { // its samples are kept, but others are not compared with them
			continue
		}
		byID[row.ID()] = row
		if of := row.Family + " on " + row.Device; row.Family != "" && row.Variant == "" && row.betterThan(byID[of]) {
			byID[of] = row
		}
		id := row.Suite + "/" + row.Case
		if first[id] == nil {
			first[id] = row
			continue
		}
		if a, b, clock := paired(row, first[id]); len(a) > 0 {
			row.Ratio = &Ratio{To: first[id].ID(), Clock: clock, Interval: stats.Ratio(a, b, r.Config.Confidence)}
		}
	}
	for _, row := range r.Rows {
		if row.Times != nil {
			row.compareWithLimits(byID)
		}
	}
	for _, row := range r.Rows { // a library is a limit of ours, too: the share is that of its speed
		ours := byID[row.Suite+"/"+row.Case+" on "+row.Device]
		if row.Variant == "" || ours == nil || byID[row.ID()] != row {
			continue
		}
		if a, b, _ := paired(ours, row); len(a) > 0 {
			ours.Shares = append(ours.Shares, Share{Of: row.ID(), Share: stats.Median(b) / stats.Median(a)})
		}
	}
}

func (r *Row) evaluate(confidence float64) {
	s := stats.Summarize(r.Samples)
	r.Times, r.Value = &s, r.Figure.Of(r.Amount, s.P50)
	of := stats.MedianInterval(r.Samples, confidence)
	a, b := r.Figure.Of(r.Amount, of.Low), r.Figure.Of(r.Amount, of.High)
	r.Range = &stats.Interval{Value: r.Value, Low: min(a, b), High: max(a, b), Confidence: confidence,
		Coverage: of.Coverage}
}

// betterThan reports whether a row's figure is better than that of a row with the same figure; nil is worse.
func (r *Row) betterThan(x *Row) bool {
	if x == nil || !r.Figure.Rate() {
		return x == nil || r.Value < x.Value
	}
	return r.Value > x.Value
}

// times returns the samples by a clock.
func (r *Row) times(clock string) []float64 {
	if r.Clock == ClockDevice && clock == ClockWall {
		return r.Wall
	}
	return r.Samples
}

// round returns the round of a sample.
func (r *Row) round(i int) int {
	if i < len(r.Rounds) {
		return r.Rounds[i]
	}
	return i
}

// paired returns the samples of two rows from the rounds that both have, and their clock. If one of the rows has no
// device timer, both are compared by the wall clock.
func paired(x, y *Row) (a, b []float64, clock string) {
	clock = x.Clock
	if y.Clock != x.Clock {
		clock = ClockWall
	}
	other := map[int]float64{}
	for i, t := range y.times(clock) {
		other[y.round(i)] = t
	}
	for i, t := range x.times(clock) {
		if of, both := other[x.round(i)]; both {
			a, b = append(a, t), append(b, of)
		}
	}
	return a, b, clock
}

// compareWithLimits sets the shares of the limits that the run has measured on the same device, and the roofline of a
// row with both a rate of operations and a bandwidth among its limits: of several of one figure, the highest.
func (r *Row) compareWithLimits(rows map[string]*Row) {
	highest := map[Figure]float64{}
	var limits []*Row
	for _, id := range r.Limits {
		limit := rows[id+" on "+r.Device]
		if limit == nil || limit.Value <= 0 {
			continue
		}
		limits = append(limits, limit)
		f := limit.Figure.limits()
		highest[f] = max(highest[f], limit.Value)
	}
	flops, bandwidth := highest[Flops], highest[Bandwidth]
	for _, limit := range limits {
		share := 0.0
		switch f := limit.Figure.limits(); {
		case f == Time: // the latency of a launch, for example: its part of the time
			share = limit.Times.P50 / r.Times.P50
		case limit.Value < highest[f]: // of other units, or of an access that is slower
		case f == Flops:
			share = r.Amount.Ops / r.Times.P50 / limit.Value
		case f == Bandwidth:
			share = r.Amount.Bytes / r.Times.P50 / limit.Value
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

// limits returns the figure of limits that are compared with each other: operations on integers are operations.
func (f Figure) limits() Figure {
	if f == IntOps {
		return Flops
	}
	return f
}
