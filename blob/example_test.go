package blob_test

import (
	"encoding/binary"
	"errors"
	"fmt"

	"tvmgo/blob"
)

// modern builds the blob of a library that imports one module of a made-up kind.
func modern() []byte {
	u64 := func(b []byte, v ...uint64) []byte {
		for _, v := range v {
			b = binary.LittleEndian.AppendUint64(b, v)
		}
		return b
	}
	str := func(b []byte, s string) []byte { return append(u64(b, uint64(len(s))), s...) }
	b := u64(nil, 0 /* the length, below */, 3, 0, 1, 1, 1, 1)
	b = str(str(str(b, "_lib"), "note"), "remember the milk")
	binary.LittleEndian.PutUint64(b, uint64(len(b)-8))
	return b
}

func ExampleParse() {
	b, err := blob.Parse(modern(), blob.Modern, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, e := range b.Entries {
		fmt.Printf("%d %s %q imports %v\n", i, e.Kind, e.Payload, b.Imports(i))
	}
	// Output:
	// 0 _lib "" imports [1]
	// 1 note "remember the milk" imports []
}

func ExampleParse_corrupt() {
	data := modern()
	_, err := blob.Parse(data[:len(data)-4], blob.Modern, nil)
	fmt.Println(errors.Is(err, blob.ErrCorrupt))
	fmt.Println(err)
	// Output:
	// true
	// blob: offset 8: blob: needs 97 bytes, 93 are left
}

func ExampleKinds_Register() {
	// A legacy blob does not say how long a payload is: the scanner does.
	kinds := blob.NewKinds()
	err := kinds.Register("note", func(r *blob.Reader, _ blob.Layout) error {
		r.Bytes("text")
		return r.Err()
	})
	fmt.Println(err, kinds.Lookup("note") != nil)
	// Output: <nil> true
}

func ExampleParseMetaJSON() {
	meta, err := blob.ParseMetaJSON([]byte(`{
	  "tvm_version": "0.1.0",
	  "func_info": {"add": {"name": "", "arg_types": ["handle", "int32"], "launch_param_tags": ["blockIdx.x"]}}
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	f := meta.Functions[0]
	fmt.Println(f.Name, f.ArgTypes, f.LaunchParamTags)
	// Output: add [handle int32] [blockIdx.x]
}

func ExampleReader() {
	r := blob.NewReader([]byte("\x02\x00\x00\x00\x00\x00\x00\x00hi\x07"))
	word := r.Str("word")
	number := r.U32("number")
	fmt.Printf("%q %d\n%v\n", word, number, r.Finish("end"))
	// Output:
	// "hi" 0
	// blob: offset 10: number: needs 4 bytes, 1 are left
}
