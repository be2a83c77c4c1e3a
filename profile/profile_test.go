package profile_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/profile"
)

const device = "opencl:0"

func instruction(name string, number int, begin, end time.Duration) profile.Event {
	return profile.Event{Site: &profile.Site{Kind: profile.Instruction, Name: name, Function: "main", Number: number},
		Begin: begin, End: end, OnStream: -1}
}

// recording is a call whose second instruction launches two kernels, which take longer than the host; the third one
// copies the result and waits.
func recording() *profile.Recording {
	kernel := &profile.Site{Kind: profile.Kernel, Name: "conv2d_kernel", Device: device}
	memory := &profile.Site{Kind: profile.Memory, Device: device}
	return &profile.Recording{Threads: []profile.Thread{
		{},
		{ID: 7, Events: []profile.Event{
			{Site: memory, Begin: 101, End: 101, Bytes: 4096, OnStream: -1},
			instruction("vm.builtin.alloc_storage", 0, 100, 150),
			{Site: kernel, Begin: 160, End: 170, OnStream: 500},
			{Site: kernel, Begin: 180, End: 190, OnStream: 300},
			instruction("conv2d", 1, 150, 200),
			{Site: &profile.Site{Kind: profile.Copy, Device: device, Other: "cpu:0"}, Begin: 210, End: 220, OnStream: 40,
				Bytes: 80},
			{Site: &profile.Site{Kind: profile.Wait, Device: device}, Begin: 220, End: 1010, OnStream: -1},
			instruction("vm.builtin.to_device", 2, 200, 1020),
			{Site: &profile.Site{Kind: profile.Function, Name: "main"}, Begin: 100, End: 1025, OnStream: -1},
			{Site: memory, Begin: 1025, End: 1025, Bytes: -4096, OnStream: -1},
		}},
	}}
}

func TestRecording_Operators(t *testing.T) {
	type row struct {
		device string
		calls  int
		time   time.Duration
	}
	rows, shares := map[string]row{}, 0.0
	for _, o := range recording().Operators() {
		rows[o.Name] = row{o.Device, o.Calls, o.Time}
		shares += o.Share
	}
	require.Equal(t, map[string]row{
		"conv2d":                   {device, 1, 800}, // on the stream
		"copy opencl:0 to cpu:0":   {device, 1, 40},
		"vm.builtin.alloc_storage": {"", 1, 50},
		"vm.builtin.to_device":     {"", 1, 20}, // without the copy and the wait
		"main":                     {"", 1, 5},
	}, rows)
	require.InDelta(t, 1, shares, 1e-12)
	for _, o := range recording().Operators() {
		if o.Name == "copy opencl:0 to cpu:0" {
			require.EqualValues(t, 80, o.Bytes)
			require.InDelta(t, 2.0, o.GBs, 1e-12)
		}
	}
	require.Empty(t, (&profile.Recording{}).Operators())
}

// Work on a stream begins when the work before it is done, or when it was queued.
func TestRecording_Trace(t *testing.T) {
	var text strings.Builder
	r := recording()
	r.Dropped = 3
	r.Threads[1].Events[4].Name = `a "quoted" name`
	require.NoError(t, r.WriteTrace(&text))
	require.True(t, json.Valid([]byte(text.String())), text.String())
	const work = `{"ph":"X","pid":2,"tid":1,"ts":`
	for _, line := range []string{
		`"dropped events":"3"`,
		work + `0.160,"dur":0.500,"cat":"kernel","name":"conv2d_kernel","args":{"device":"opencl:0"}}`,
		work + `0.660,"dur":0.300,"cat":"kernel","name":"conv2d_kernel","args":{"device":"opencl:0"}}`,
		work + `0.960,"dur":0.040,"cat":"copy","name":"copy opencl:0 to cpu:0","args":{"bytes":80}}`,
		`{"ph":"X","pid":1,"tid":7,"ts":0.220,"dur":0.790,"cat":"wait","name":"wait for opencl:0","args":{}}`,
		`"name":"a \"quoted\" name","args":{"function":"main","instruction":1}}`,
		`{"ph":"C","pid":2,"tid":0,"ts":0.101,"name":"memory in use on opencl:0","args":{"bytes":4096}}`,
		`{"ph":"C","pid":2,"tid":0,"ts":1.025,"name":"memory in use on opencl:0","args":{"bytes":0}}`,
	} {
		require.Contains(t, text.String(), line)
	}
}

type full struct{}

var errFull = errors.New("no space left")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestRecording_WriteFails(t *testing.T) {
	require.ErrorIs(t, recording().WriteTrace(full{}), errFull)
	require.ErrorIs(t, recording().WriteTable(full{}), errFull)
}

func TestRecording_TableNamesWhatIsMissing(t *testing.T) {
	var text strings.Builder
	r := recording()
	r.Dropped = 3
	require.NoError(t, r.WriteTable(&text))
	require.Contains(t, text.String(), "3 events are missing: the profile was full\n")
}

func ExampleRecording_WriteTable() {
	matmul := &profile.Site{Kind: profile.Instruction, Name: "matmul", Function: "main"}
	matrix := profile.Tensor{DType: "float32", Bits: 32, Float: true, Shape: []int64{100, 100}}
	r := &profile.Recording{Threads: []profile.Thread{{ID: 1, Events: []profile.Event{
		{Site: matmul, Begin: 0, End: 100_000, OnStream: -1, Tensors: []profile.Tensor{matrix, matrix, matrix}},
		{Site: matmul, Begin: 100_000, End: 200_000, OnStream: -1, Tensors: []profile.Tensor{matrix, matrix, matrix}},
	}}}}
	if err := r.WriteTable(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	//   share    time  calls  per call  GB/s  GFLOP/s    on  operator
	// 100.0 %  200 µs      2    100 µs   1.2       20  host  matmul
	// 100.0 %  200 µs                                        total
}
