package target_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/golden"
	"tvmgo/internal/testing/must"
	"tvmgo/target"
)

// hashed lists targets whose hashes must never change, because modules are stored under them.
var hashed = []string{
	`cuda -arch=sm_90a`,
	`nvidia/h100`,
	`{"kind":"cuda","arch":"sm_86","host":{"kind":"stackvm","model":"m","keys":"cpu"},"libs":["cudnn","cublas"]}`,
	`{"kind":"composite","devices":["cuda -arch=sm_90","opencl"],"host":"hybrid -libs=a"}`,
	`vulkan -supports_float16 -max_shared_memory_per_block=32768`,
	`{"kind":"webgpu","supports_subgroups":true,"feature.x":1.5,"feature.y":"1","model":"ünï'code, \n"}`,
	`rocm -mcpu=gfx942 -mattr=+xnack,-sramecc`,
}

func hashes(t *testing.T) string {
	var b strings.Builder
	for _, s := range hashed {
		x := must.Get(target.New(s))(t)
		fmt.Fprintf(&b, "%016x %s\n", x.Hash(), s)
	}
	return b.String()
}

// TestHash_Golden checks that hashes equal those of earlier versions, in this process and in another one.
func TestHash_Golden(t *testing.T) {
	quiet(t)
	got := hashes(t)
	golden.Text(t, "testdata/hashes.txt", got)
	if os.Getenv("TVMGO_TEST_HASH_CHILD") != "" {
		return
	}
	for range 3 {
		c := exec.Command(os.Args[0], "-test.run=^TestHash_Golden$", "-test.v")
		c.Env = append(os.Environ(), "TVMGO_TEST_HASH_CHILD=1")
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "--- PASS: TestHash_Golden")
	}
}

// TestHash_Order checks that the order of keys does not matter in JSON, in a map and on a command line.
func TestHash_Order(t *testing.T) {
	quiet(t)
	members := map[string]string{"kind": `"cuda"`, "arch": `"sm_90"`, "libs": `["b","a"]`, "max_num_threads": "512",
		"model": `"m"`, "feature.b": "1",
		"feature.a": "true", "host": `{"kind":"c","mcpu":"x","march":"y"}`, "device": `"d"`}
	names := slices.Sorted(maps.Keys(members))
	var first *target.Target
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		var parts, words []string
		m := map[string]any{}
		for _, n := range names {
			parts = append(parts, fmt.Sprintf("%q:%s", n, members[n]))
			var v any
			require.NoError(t, json.Unmarshal([]byte(members[n]), &v))
			m[n] = v
			if n == "feature.b" { // encoding/json returns a float64, which is not an int; see Features
				m[n] = 1
			}
			if text, isText := v.(string); isText && n != "kind" {
				words = append(words, "-"+n+"="+text)
			}
		}
		words = append(words, "-libs=b,a", "-max_num_threads=512", "-feature.b=1", "-feature.a", "-host='c -march=y -mcpu=x'")
		r.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
		for _, in := range []any{"{" + strings.Join(parts, ",") + "}", m, "cuda " + strings.Join(words, " ")} {
			x, err := target.New(in)
			require.NoError(t, err, "%v", in)
			if first == nil {
				first = x
			}
			require.True(t, first.Equal(x), "%v\n%s\n%s", in, first.JSON(), x.JSON())
			require.Equal(t, first.Hash(), x.Hash())
			require.Equal(t, first.JSON(), x.JSON())
		}
	}
	// different targets have different hashes
	for _, other := range []string{"cuda", "cuda -arch=sm_90", "cuda -arch=sm_90 -libs=a,b"} {
		x := must.Get(target.New(other))(t)
		require.NotEqual(t, first.Hash(), x.Hash())
		require.False(t, first.Equal(x))
	}
}

// TestSchema_Golden compares the schema of a small kind with a golden file.
func TestSchema_Golden(t *testing.T) {
	b := must.Get(target.Schema("webgpu"))(t)
	var doc struct {
		Defs map[string]json.RawMessage `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal(b, &doc))
	golden.Text(t, "testdata/schema-webgpu.json", string(doc.Defs["kind.webgpu"])+"\n")
}
