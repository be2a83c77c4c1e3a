package oip

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
)

// rawInputs is the JSON of a request with raw inputs: "name shape datatype size".
func rawInputs(inputs ...string) string {
	var list []string
	for _, in := range inputs {
		var name, shape, datatype string
		var size int64
		if _, err := fmt.Sscan(in, &name, &shape, &datatype, &size); err != nil {
			panic(err)
		}
		list = append(list, fmt.Sprintf(`{"name":%q,"shape":%s,"datatype":%q,"parameters":{"binary_data_size":%d}}`, name,
			shape,
			datatype, size))
	}
	return `{"inputs":[` + strings.Join(list, ",") + `]}`
}

func TestReadRequest_Raw(t *testing.T) {
	r, err := readRaw(t, rawInputs("a [2] INT16 4", "empty [0,3] FP32 0", "flags [3] BOOL 3", "s [] FP64 8"),
		"\x01\x02\x03\x04"+"\x01\x00\x01"+"12345678", Limits{})
	require.NoError(t, err)
	require.Equal(t, []Tensor{
		{Name: "a", DType: dlpack.Int16, Shape: []int64{2}, Data: []byte{1, 2, 3, 4}},
		{Name: "empty", DType: dlpack.Float32, Shape: []int64{0, 3}, Data: []byte{}},
		{Name: "flags", DType: dlpack.Bool, Shape: []int64{3}, Data: []byte{1, 0, 1}},
		{Name: "s", DType: dlpack.Float64, Shape: []int64{}, Data: []byte("12345678")},
	}, r.Inputs)

	const mixed = `{"inputs":[{"name":"a","shape":[1],"datatype":"UINT8","parameters":{"binary_data_size":1}},` +
		`{"name":"b","shape":[1],"datatype":"UINT8","data":[2]},` +
		`{"parameters":{"binary_data_size":1},"datatype":"UINT8","name":"c","shape":[1]}]}`
	r, err = readRaw(t, mixed, "\x01\x03", Limits{})
	require.NoError(t, err)
	require.Equal(t, "[1] [2] [3]", fmt.Sprint(r.Inputs[0].Data, r.Inputs[1].Data, r.Inputs[2].Data))

	r, err = readRaw(t, `{"inputs":[]}`, "", Limits{})
	require.NoError(t, err)
	require.Empty(t, r.Inputs)
}

func TestReadRequest_RawErrors(t *testing.T) {
	for _, c := range []struct {
		name, json, raw, want string
		limits                Limits
		code                  Code
	}{
		{"size of another shape", rawInputs("x [2] FP32 4"), "1234",
			"binary_data_size is 4, but float32 of shape [2] has 8 bytes",
			Limits{}, InvalidArgument},
		{"too few bytes", rawInputs("x [2] FP32 8", "y [1] FP32 4"), "1234567890",
			`10 bytes follow the JSON, of which 2 are left for the 4 bytes of input "y"`, Limits{}, InvalidArgument},
		{"none", rawInputs("x [2] FP32 8"), "", "0 bytes follow the JSON", Limits{}, InvalidArgument},
		{"too many", rawInputs("x [2] FP32 8"), "123456789",
			"9 bytes follow the JSON, but the inputs with binary_data_size have 8",
			Limits{}, InvalidArgument},
		{"for no input", `{"inputs":[]}`, "1", "1 bytes follow the JSON", Limits{}, InvalidArgument},
		{"BOOL", rawInputs("x [3] BOOL 3"), "\x01\x00\x02", `input "x": byte 2 is 2, but BOOL is 0 or 1`, Limits{},
			InvalidArgument},
		{"size with more than 63 bits", `{"inputs":[{"name":"x","shape":[2],"datatype":"FP32",` +
			`"parameters":{"binary_data_size":9223372036854775808}}]}`,
			"12345678", "more than 63 bits", Limits{}, InvalidArgument},
		{"a large tensor", rawInputs("x [3] FP32 12"), "123456789012", "has 12 bytes, the server accepts 11",
			Limits{TensorBytes: 11}, TooLarge},
		{"a large body", rawInputs("x [3] FP32 12"), "123456789012", "the body has more than 100 bytes",
			Limits{BodyBytes: 100}, TooLarge},
		{"sizes that overflow together", rawInputs("x [2305843009213693951] FP32 9223372036854775804",
			"y [2305843009213693951] FP32 9223372036854775804", "z [4] FP32 16"), "", "follow the JSON",
			Limits{TensorBytes: math.MaxInt64}, InvalidArgument},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := readRaw(t, c.json, c.raw, c.limits)
			requireCode(t, c.code, err, c.json)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestReadRequest_HeaderLength(t *testing.T) {
	json := rawInputs("x [2] UINT8 2")
	body := json + "12"
	for _, c := range []struct {
		length, header int64
		want           string
		code           Code
	}{
		{int64(len(body)), int64(len(body)) + 1, "Inference-Header-Content-Length is", InvalidArgument},
		{int64(len(body)), math.MaxInt64, "the body has more than 67108864 bytes", TooLarge},
		{math.MaxInt64, int64(len(json)), "the body has more than 67108864 bytes", TooLarge},
		{int64(len(body)), 0, "the text ends early", InvalidArgument},
		{int64(len(body)), int64(len(json)) - 1, "the text ends early", InvalidArgument},
		{int64(len(body)), int64(len(json)) + 1, "more text follows", InvalidArgument},
		{int64(len(body)), int64(len(body)), "more text follows", InvalidArgument},
		{int64(len(body)), -1, "send the header Inference-Header-Content-Length", InvalidArgument},
		{-1, int64(len(body)) + 1, "the JSON has", InvalidArgument},
		{int64(len(body)) + 1, int64(len(json)), "3 bytes follow the JSON, but the inputs with binary_data_size have 2",
			InvalidArgument},
		{int64(len(body)) - 1, int64(len(json)), "1 bytes follow the JSON, of which 1 are left", InvalidArgument},
	} {
		_, err := ReadRequest(strings.NewReader(body), c.length, c.header, Limits{}, nil)
		requireCode(t, c.code, err, fmt.Sprint(c))
		require.ErrorContains(t, err, c.want)
	}
}

func TestReadRequest_Limits(t *testing.T) {
	body := `{"inputs":[{"name":"x","shape":[1,1,2],"datatype":"FP32","data":[1,2]},{"name":"y","shape":[],` +
		`"datatype":"FP32","data":[1]}],` +
		`"outputs":[{"name":"a"},{"name":"b"}]}`
	exact := Limits{BodyBytes: int64(len(body)), TensorBytes: 8, Inputs: 2, Dims: 3}
	must.Get(read(t, body, exact))(t)
	for _, c := range []struct {
		change func(l *Limits)
		want   string
	}{
		{func(l *Limits) { l.BodyBytes-- }, fmt.Sprintf("the body has more than %d bytes", len(body)-1)},
		{func(l *Limits) { l.TensorBytes-- }, "has 8 bytes, the server accepts 7"},
		{func(l *Limits) { l.Inputs-- }, "more than 1 inputs"},
		{func(l *Limits) { l.Dims-- }, "more than 2 dimensions"},
	} {
		limits := exact
		c.change(&limits)
		_, err := read(t, body, limits)
		requireCode(t, TooLarge, err, body)
		require.ErrorContains(t, err, c.want)
	}
	_, err := read(t, `{"inputs":[],"outputs":[{"name":"a"},{"name":"b"}]}`, Limits{Inputs: 1})
	requireCode(t, TooLarge, err, body)
	require.ErrorContains(t, err, "more than 1 outputs")
}

func TestReadRequest_Alloc(t *testing.T) {
	const json = `{"inputs":[{"name":"raw","shape":[2],"datatype":"INT8","parameters":{"binary_data_size":2}},` +
		`{"name":"x","shape":[2],"datatype":"INT8","data":[1,2]}]}`
	call := func(alloc func(*Tensor) error) (*Request, error) {
		return ReadRequest(strings.NewReader(json+"\x03\x04"), -1, int64(len(json)), Limits{}, alloc)
	}
	memory := map[string][]byte{"raw": make([]byte, 2), "x": make([]byte, 2)}
	r, err := call(func(t *Tensor) error {
		t.Data, t.Owner = memory[t.Name], t.Name
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, map[string][]byte{"raw": {3, 4}, "x": {1, 2}}, memory, "elements are read into the memory itself")
	require.Equal(t, "raw", r.Inputs[0].Owner)

	known := Errorf(NotFound, "no such input")
	r, err = call(func(t *Tensor) error {
		if t.Name == "raw" {
			return fmt.Errorf("model: %w", known)
		}
		t.Data, t.Owner = make([]byte, 2), "mine"
		return nil
	})
	require.Equal(t, known, err)
	require.Equal(t, "mine", r.Inputs[1].Owner, "the caller frees what it has allocated")
	r, err = call(func(t *Tensor) error { return known })
	require.Equal(t, known, err)
	require.Nil(t, r.Inputs[1].Data)
	_, err = call(func(t *Tensor) error { return errors.New("no memory") })
	requireCode(t, Internal, err, json)
	require.ErrorContains(t, err, `read the request: memory for input "x": no memory`)
	_, err = call(func(t *Tensor) error { t.Data = make([]byte, 3); return nil })
	requireCode(t, Internal, err, json)
	require.ErrorContains(t, err, "want 2 bytes, got 3")
}

// TestReadRequest_Memory checks that claims of a client allocate nothing.
func TestReadRequest_Memory(t *testing.T) {
	for _, c := range []struct {
		body          string
		length, split int64
	}{
		{`{"inputs":[{"name":"x","shape":[16000000],"datatype":"FP32","data":[1,2,3]}]}`, -1, -1},
		{`{"inputs":[{"name":"x","data":[1,2,3],"shape":[16000000],"datatype":"FP32"}]}`, -1, -1},
		{`{"inputs":[{"name":"x","shape":[4000,4000],"datatype":"FP32","data":[[1]]}]}`, 1 << 26, -1},
		{`{"inputs":[`, 1 << 26, -1},
		{`{"inputs":[`, 1 << 26, 1 << 26},
		{rawInputs("x [16000000] FP32 64000000"), -2, -2},
	} {
		body, length, split := c.body, c.length, c.split
		if split == -2 {
			split = int64(len(body))
			length = split
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := ReadRequest(strings.NewReader(body), length, split, Limits{}, nil)
		runtime.ReadMemStats(&after)
		requireCode(t, InvalidArgument, err, body)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<18), body)
	}
}

func TestReadRequest_BrokenBody(t *testing.T) {
	json := rawInputs("x [2] UINT8 2")
	for _, c := range []struct {
		err  error
		code Code
	}{
		{errors.New("broken"), InvalidArgument},
		{&http.MaxBytesError{Limit: 3}, TooLarge},
		{os.ErrDeadlineExceeded, DeadlineExceeded},
		{context.DeadlineExceeded, DeadlineExceeded},
		{context.Canceled, Canceled},
		{io.ErrUnexpectedEOF, InvalidArgument},
	} {
		for _, n := range []int{0, 5, len(json), len(json) + 1, len(json) + 2} {
			for _, length := range []int64{int64(len(json)) + 2, -1} {
				body := io.MultiReader(strings.NewReader((json + "12")[:n]), iotest.ErrReader(c.err))
				_, err := ReadRequest(body, length, int64(len(json)), Limits{}, nil)
				if n == len(json)+2 && length >= 0 {
					require.NoError(t, err)
					continue
				}
				requireCode(t, c.code, err, fmt.Sprint(n))
				require.ErrorIs(t, err, c.err)
			}
		}
	}
}

// TestReadRequest_OfServer reads bodies that a server of net/http receives.
func TestReadRequest_OfServer(t *testing.T) {
	json := rawInputs("x [2] UINT8 2")
	result := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := ReadRequest(http.MaxBytesReader(w, r.Body, int64(len(json))+3), r.ContentLength, int64(len(json)),
			Limits{}, nil)
		result <- err
	}))
	defer server.Close()
	post := func(body io.Reader) error {
		must.Get(http.Post(server.URL, "application/octet-stream", body))(t).Body.Close()
		return <-result
	}
	require.NoError(t, post(strings.NewReader(json+"12")))
	require.NoError(t, post(io.MultiReader(strings.NewReader(json+"12"))), "chunked")
	requireCode(t, InvalidArgument, post(io.MultiReader(strings.NewReader(json+"123"))), "chunked, too long")
	requireCode(t, InvalidArgument, post(io.MultiReader(strings.NewReader(json+"1"))), "chunked, too short")
	requireCode(t, InvalidArgument, post(strings.NewReader(json+"123")), "too long")
}
