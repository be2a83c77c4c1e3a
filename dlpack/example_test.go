package dlpack_test

import (
	"fmt"

	"tvmgo/dlpack"
)

func ExampleParseDevice() {
	d, err := dlpack.ParseDevice("nvptx:1")
	fmt.Println(d, err)
	_, err = dlpack.ParseDevice("vulcan")
	fmt.Println(err)
	// Output:
	// cuda:1 <nil>
	// parse device "vulcan": parse device type: unknown name "vulcan": did you mean "vulkan"?
}

func ExampleRegisterDeviceType() {
	if err := dlpack.RegisterDeviceType(19, "npu", "my_npu"); err != nil {
		fmt.Println(err)
	}
	d, _ := dlpack.ParseDevice("my_npu:2")
	fmt.Println(d.Type == 19, d)
	fmt.Println(dlpack.RegisterDeviceType(2, "cuda2"))
	// Output:
	// true npu:2
	// register device type 2 "cuda2": the number must lie between 13 and 35
}

func ExampleParseDataType() {
	for _, text := range []string{"f32", "int8x4", "float32xvscalex4", "bool"} {
		t, _ := dlpack.ParseDataType(text)
		fmt.Printf("%v %d bits, lanes %d\n", t, t.Bits, int16(t.Lanes))
	}
	// Output:
	// float32 32 bits, lanes 1
	// int8x4 8 bits, lanes 4
	// float32xvscalex4 32 bits, lanes -4
	// bool 8 bits, lanes 1
}

func ExampleDataType_ClassicString() {
	text, err := dlpack.ClassicBool.ClassicString()
	fmt.Println(text, err)
	_, err = dlpack.Bool.ClassicString()
	fmt.Println(err)
	// Output:
	// bool <nil>
	// print bool for the classic ABI: it has no such type: a classic bool is dlpack.ClassicBool {1,1,1}
}

func ExampleDataTypeOf() {
	type volts float32
	fmt.Println(dlpack.DataTypeOf[volts](), dlpack.DataTypeOf[bool](), dlpack.DataTypeOf[uint16]())
	// Output: float32 bool uint16
}

func ExampleDataSize() {
	int4 := dlpack.DataType{Code: dlpack.CodeInt, Bits: 4, Lanes: 1}
	modern, _ := dlpack.DataSize([]int64{3, 5}, int4)
	classic, _ := dlpack.ClassicDataSize([]int64{3, 5}, int4)
	fmt.Println(modern, classic)
	// Output: 8 15
}

func ExampleTensor_Check() {
	t := dlpack.Tensor{Device: dlpack.Device{Type: dlpack.CPU}, DType: dlpack.Float32, Shape: []int64{4, 4}}
	fmt.Println(t.Check())
	// Output: tensor of shape [4 4]: the data pointer is null
}
