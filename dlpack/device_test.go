package dlpack

import (
	"encoding/json"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

func TestParseDeviceType_EverySpelling(t *testing.T) {
	for _, info := range DeviceTypes() {
		require.Equal(t, info.Name, info.Type.String())
		require.True(t, info.Type.Known())
		spellings := append([]DeviceAlias{{info.Name, info.In}}, info.Aliases...)
		for _, s := range spellings {
			got, err := ParseDeviceType(s.Name)
			require.NoError(t, err, s.Name)
			if s.Name == "sdaccel" { // the classic parser's own reading
				require.Equal(t, OpenCL, got)
				continue
			}
			require.Equal(t, info.Type, got, s.Name)
		}
	}
}

func TestParseDeviceType(t *testing.T) {
	for name, want := range map[string]DeviceType{
		"cpu": 1, "llvm": 1, "stackvm": 1, "c": 1, "test": 1, "hybrid": 1, "composite": 1, "llvm -mcpu=native": 1,
		"cuda": 2, "nvptx": 2, "cl": 4, "opencl": 4, "aocl": 32, "aocl_sw_emu": 32, "vulkan": 7, "metal": 8, "mps": 8,
		"vpi": 9, "rocm": 10, "ext_dev": 12, "hexagon": 16, "webgpu": 15, "wgpu": 15, "maia": 17, "trn": 18, "microdev": 35,
	} {
		got, err := ParseDeviceType(name)
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
	}
	for name, want := range map[string]string{
		"cuad": `did you mean "cuda"`, "CUDA": `did you mean "cuda"`, "vulcan": `did you mean "vulkan"`,
		"gpu": "use cuda, opencl",
		"":    "the known ones are cpu, cuda,", "quantum": "the known ones are", "rpc": "unknown name",
	} {
		require.ErrorContains(t, must.Fail(ParseDeviceType(name)), want, name)
	}
	require.Equal(t, "device_type(5)", DeviceType(5).String())
	require.Equal(t, "device_type(-3)", DeviceType(-3).String())
	require.False(t, DeviceType(5).Known())
}

func TestRemote(t *testing.T) {
	remote := must.Get(CUDA.Remote(1))(t)
	require.Equal(t, DeviceType(2|128*2), remote)
	base, session := remote.SplitRemote()
	require.Equal(t, CUDA, base)
	require.Equal(t, 1, session)
	require.Equal(t, "remote[1]-cuda", remote.String())
	require.Equal(t, "rpc", remote.APIName())
	require.Equal(t, "cuda", CUDA.APIName())

	largest := must.Get(MicroDev.Remote(MaxRPCSession))(t)
	require.Positive(t, int32(largest))
	for _, f := range []func() (DeviceType, error){
		func() (DeviceType, error) { return CUDA.Remote(-1) },
		func() (DeviceType, error) { return CUDA.Remote(MaxRPCSession + 1) },
		func() (DeviceType, error) { return remote.Remote(0) },
		func() (DeviceType, error) { return DeviceType(0).Remote(0) },
	} {
		require.Error(t, must.Fail(f()))
	}
}

// withTable lets a test register types, and restores the table.
func withTable(t *testing.T) {
	old := deviceTypes.Load()
	t.Cleanup(func() { deviceTypes.Store(old) })
}

func TestRegisterDeviceType(t *testing.T) {
	withTable(t)
	require.NoError(t, RegisterDeviceType(20, "abacus", "beads"))
	require.NoError(t, RegisterDeviceType(20, "abacus", "beads"), "the identical registration")
	got := must.Get(ParseDevice("beads:3"))(t)
	require.Equal(t, Device{20, 3}, got)
	require.Equal(t, "abacus:3", got.String())

	for _, c := range []struct {
		n       DeviceType
		name    string
		aliases []string
		want    string
	}{
		{20, "abacus", nil, `belongs to "abacus"`},
		{20, "other", nil, `belongs to "abacus": free ones are 19, 21,`},
		{21, "abacus", nil, "belongs to device type 20 (abacus)"},
		{21, "slide", []string{"beads"}, `"beads" belongs to device type 20`},
		{21, "slide", []string{"llvm"}, "belongs to device type 1 (cpu)"},
		{21, "slide", []string{"slide"}, "given twice"},
		{16, "slide", nil, `belongs to "hexagon"`},
		{12, "slide", nil, "between 13 and 35"},
		{36, "slide", nil, "between 13 and 35"},
		{-1, "slide", nil, "between 13 and 35"},
		{21, "rpc", nil, "name of remote devices"},
		{21, "", nil, "empty"},
		{21, "Slide", nil, "lower-case"},
		{21, "a:b", nil, "lower-case"},
		{21, "0a", nil, "lower-case"},
		{21, "remote[0]-cuda", nil, "lower-case"},
	} {
		require.ErrorContains(t, RegisterDeviceType(c.n, c.name, c.aliases...), c.want)
	}
	require.Error(t, must.Fail(ParseDeviceType("slide")), "a failed registration leaves nothing behind")
}

func TestRegisterDeviceType_Concurrent(t *testing.T) {
	withTable(t)
	var wg sync.WaitGroup
	won := make([]int, MaxDeviceAPI)
	var mu sync.Mutex
	for g := range 8 {
		wg.Go(func() {
			for n := DeviceType(19); n < 32; n++ {
				err := RegisterDeviceType(n, fmt.Sprintf("dev%d_%d", n, g))
				if err == nil {
					mu.Lock()
					won[n]++
					mu.Unlock()
				}
				_ = n.String()
				_, _ = ParseDeviceType("cuda")
				_ = DeviceTypes()
			}
		})
	}
	wg.Wait()
	for n := 19; n < 32; n++ {
		require.Equal(t, 1, won[n], n)
	}
	require.ErrorContains(t, RegisterDeviceType(25, "late"), "free ones are none")
}

func TestDevice_JSON(t *testing.T) {
	list := []Device{{CPU, 0}, {CUDA, 2}}
	text := must.Get(json.Marshal(list))(t)
	require.JSONEq(t, `["cpu:0", "cuda:2"]`, string(text))
	var read []Device
	require.NoError(t, json.Unmarshal(text, &read))
	require.Equal(t, list, read)
	require.ErrorContains(t, json.Unmarshal([]byte(`["gpu"]`), &read), `parse device "gpu"`)
}

func TestParseDevice(t *testing.T) {
	remote := func(d DeviceType, session int) DeviceType { r, _ := d.Remote(session); return r }
	for s, want := range map[string]Device{
		"cpu": {CPU, 0}, "cuda:1": {CUDA, 1}, "cl:02": {OpenCL, 2}, "vulkan:2147483647": {Vulkan, math.MaxInt32},
		"remote[0]-cuda:1": {remote(CUDA, 0), 1}, "remote[7]-cpu": {remote(CPU, 7), 0},
	} {
		got, err := ParseDevice(s)
		require.NoError(t, err, s)
		require.Equal(t, want, got, s)
		require.Equal(t, got, must.Get(ParseDevice(got.String()))(t))
	}
	for s, want := range map[string]string{
		"": "missing", ":1": "missing", "cuda:": "a number is missing", "cuda:-1": "not a number", "cuda:+1": "not a number",
		"cuda:1:2": "not a number", "cuda: 1": "not a number", "cuda:2147483648": "larger than 2147483647",
		"cuda:99999999999999999999999": "larger than", "cuda:0x1": "not a number", "cuda -x:1": "unknown name",
		"cuad:1":          `did you mean "cuda"`,
		"remote[0]cuda:1": "remote[session]-name", "remote[x]-cuda": "session", "remote[16777215]-cuda": "session",
		"remote[]-cuda": "session",
		"remote[0]-":    "missing", "remote[0]-remote[0]-cuda": "unknown name", "cuda:1_0": "not a number",
		"cuda:١": "not a number",
	} {
		require.ErrorContains(t, must.Fail(ParseDevice(s)), want, s)
	}
}

func FuzzParseDevice(f *testing.F) {
	for _, s := range []string{"cpu", "cuda:1", "remote[0]-cuda:1", "remote[16777214]-trn:2147483647", "cuda:-1",
		"remote[", ":", "sdaccel:1", "gpu"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDevice(s)
		if err != nil {
			require.Zero(t, d)
			return
		}
		require.Equal(t, d, must.Get(ParseDevice(d.String()))(t))
	})
}

func TestDeviceType_Family(t *testing.T) {
	for of, family := range map[DeviceType]DeviceType{CPU: CPU, CUDA: CUDA, CUDAHost: CUDA, CUDAManaged: CUDA, ROCM: ROCM,
		ROCMHost: ROCM, OpenCL: OpenCL, 20: 20} {
		require.Equal(t, family, of.Family(), "%v", of)
	}
}

func TestDeviceType_HasOwnMemory(t *testing.T) {
	own := map[DeviceType]bool{CUDA: true, OpenCL: true, AOCL: true, Vulkan: true, Metal: true, ROCM: true, WebGPU: true}
	for _, info := range DeviceTypes() {
		require.Equal(t, own[info.Type], info.Type.HasOwnMemory(), info.Name)
	}
}
