package arguments

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

func TestParseInput(t *testing.T) {
	for text, want := range map[string]Input{
		"x.npy":          {Value: File("x.npy")},
		"x=x.npy":        {Name: "x", Value: File("x.npy")},
		"x=a=b.npy":      {Name: "x", Value: File("a=b.npy")},
		"fc1.weight=w":   {Name: "fc1.weight", Value: File("w")},
		"%0=x.npy":       {Name: "%0", Value: File("x.npy")},
		"state.1=x.npy":  {Name: "state.1", Value: File("x.npy")},
		"i:-3":           {Value: int64(-3)},
		"n=i:0x10":       {Name: "n", Value: int64(16)},
		"n=i:1844674407": {Name: "n", Value: int64(1844674407)},
		"f:0.5":          {Value: 0.5},
		"p=f:-inf":       {Name: "p", Value: math.Inf(-1)},
		"b:true":         {Value: true},
		"flag=b:0":       {Name: "flag", Value: false},
		"s:a=b":          {Value: "a=b"},
		"text=s:a=b:c":   {Name: "text", Value: "a=b:c"},
		"shape:2,3":      {Value: Shape{2, 3}},
		"to=shape: 2, 3": {Name: "to", Value: Shape{2, 3}},
		"to=shape:":      {Name: "to", Value: Shape{}},
		"c:/x.npy":       {Value: File("c:/x.npy")},
	} {
		want.Text = text
		require.Equal(t, want, must.Get(ParseInput(text))(t))
	}
	for text, want := range map[string]string{
		"=x.npy":      "--in =x.npy: write NAME=FILE.npy",
		"x=":          "--in x=: write NAME=FILE.npy",
		"n=i:x":       `--in i:x: "x" is not an integer of 64 bits`,
		"b:maybe":     `--in b:maybe: "maybe" is not a boolean: write b:true or b:false`,
		"shape:2,x":   `--in shape:2,x: "x" is not a dimension: write shape:2,3`,
		"to=shape:2,": `--in to=shape:2,: "" is not a dimension: write shape:2,3`,
		"o:1":         "--in o:1: there are 0 --out with a --like: only functions that write into arrays have such arguments",
		"o:0":         "--in o:0: write o:1 for the first --out",
	} {
		require.EqualError(t, must.Fail(ParseInput(text)), want)
	}
}

func TestParseOutput(t *testing.T) {
	for text, want := range map[string][2]string{"y.npy": {"", "y.npy"}, "0.1=y.npy": {"0.1", "y.npy"},
		"result=a=b.npy": {"result", "a=b.npy"}} {
		name, path, err := ParseOutput(text)
		require.NoError(t, err)
		require.Equal(t, want, [2]string{name, path})
	}
	for _, text := range []string{"=y.npy", "y="} {
		_, _, err := ParseOutput(text)
		require.EqualError(t, err, "--out "+text+": write NAME=FILE.npy")
	}
}
