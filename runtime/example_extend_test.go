package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"syscall"
	"unsafe"

	"tvmgo/dlpack"
	"tvmgo/export"
	"tvmgo/runtime"
)

// board is a device with one index, whose memory is mapped from the system and whose copies are done at once.
type board struct{}

func (board) SetDevice(id int) error {
	if id != 0 {
		return &runtime.Error{Kind: runtime.ErrDeviceUnavailable, Message: fmt.Sprintf("there is no board %d", id)}
	}
	return nil
}

func (b board) Attr(id int, kind runtime.AttrKind) (any, error) {
	switch {
	case kind == runtime.AttrExist && id != 0:
		return 0, nil
	case kind == runtime.AttrExist:
		return 1, nil
	}
	return nil, b.SetDevice(id)
}

// AllocDataSpace stores the size in front of the memory. Pages have a larger alignment than any that callers request.
func (b board) AllocDataSpace(id int, nbytes, alignment uintptr, _ dlpack.DataType) (unsafe.Pointer, error) {
	if err := b.SetDevice(id); err != nil {
		return nil, err
	}
	const page = 4096
	if nbytes > 1<<30 || alignment > page {
		return nil, &runtime.Error{Kind: runtime.ErrOutOfMemory, Message: fmt.Sprintf("a board has no %d bytes",
			nbytes)}
	}
	m, err := syscall.Mmap(-1, 0, page+int(nbytes), syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		return nil, &runtime.Error{Kind: runtime.ErrOutOfMemory, Message: err.Error()}
	}
	p := unsafe.Pointer(unsafe.SliceData(m))
	*(*uintptr)(p) = uintptr(len(m))
	return unsafe.Add(p, page), nil
}

func (board) FreeDataSpace(_ int, p unsafe.Pointer) error {
	p = unsafe.Add(p, -4096)
	_, _, errno := syscall.Syscall(syscall.SYS_MUNMAP, uintptr(p), *(*uintptr)(p), 0)
	if errno != 0 {
		return errno
	}
	return nil
}

func (board) CopyDataFromTo(from, to dlpack.Tensor, _ runtime.StreamHandle) error {
	n, err := from.Size()
	if err == nil {
		copy(bytesOf(to)[:n], bytesOf(from))
	}
	return err
}

func (b board) StreamSync(id int, _ runtime.StreamHandle) error { return b.SetDevice(id) }

// A device of your own: the six mandatory methods of DeviceAPI. Its name works wherever a device is named.
func ExampleRegisterDeviceAPI() {
	err := runtime.RegisterDeviceAPI(runtime.DeviceSpec{
		Name: "board",
		// a number that dlpack.DeviceTypes does not list
		Type: 22,
		New:  func() (runtime.DeviceAPI, error) { return board{}, nil }, // called when the device is first used
	})
	if err != nil {
		log.Fatal(err)
	}
	dev, err := dlpack.ParseDevice("board:0")
	if err != nil {
		log.Fatal(err)
	}
	x, err := runtime.NewTensor(dlpack.Float32, []int64{3}, dev)
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	if err := runtime.CopyFrom(x, []float32{1, 2, 3}); err != nil {
		log.Fatal(err)
	}
	values, err := runtime.ToSlice[float32](x)
	fmt.Println(x.Device(), values, err)
	// Output: board:0 [1 2 3] <nil>
}

// greeting is a module with one function, greet, that returns the payload.
type greeting struct {
	runtime.ModuleBase // implements all other methods
	text               string
}

func (g *greeting) Function(name string) (*runtime.Function, error) {
	if name != "greet" {
		return nil, runtime.ErrNotFound
	}
	return runtime.NewFunction(func(args ...any) (any, error) { return g.text, nil })
}

func (g *greeting) SaveToBinary() ([]byte, error) { return []byte(g.text), nil }

// A module kind of your own: after RegisterModuleKind, files that contain modules of the kind can be loaded.
func ExampleRegisterModuleKind() {
	const properties = runtime.Serializable | runtime.Runnable
	err := runtime.RegisterModuleKind(runtime.ModuleKind{Name: "greeting", Properties: properties,
		Load: func(p runtime.Payload) (runtime.ModuleImpl, error) { return &greeting{text: string(p.Data)}, nil }})
	if err != nil {
		log.Fatal(err)
	}
	made, err := runtime.NewModule("greeting", properties, &greeting{text: "hello"})
	if err != nil {
		log.Fatal(err)
	}
	defer made.Close()
	path := filepath.Join(os.TempDir(), fmt.Sprintf("greeting-%d.so", os.Getpid()))
	defer os.Remove(path)
	if err := export.Library(context.Background(), made, path); err != nil {
		log.Fatal(err)
	}
	loaded, err := runtime.Load(context.Background(), path)
	if err != nil {
		log.Fatal(err)
	}
	defer loaded.Close()
	greet, err := loaded.Function("greet")
	if err != nil {
		log.Fatal(err)
	}
	defer greet.Close()
	fmt.Println(greet.Call())
	// Output: hello <nil>
}

// Go code as a module, which C and C++ call like any other.
func ExampleNewModule() {
	m, err := runtime.NewModule("greeting", runtime.Runnable, &greeting{text: "hello"})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	greet, err := m.Function("greet")
	if err != nil {
		log.Fatal(err)
	}
	defer greet.Close()
	fmt.Println(greet.Call())
	// Output: hello <nil>
}

// A Go function under a name that C and loaded modules can look up.
func ExampleRegisterGlobal() {
	f, err := runtime.NewFunction(func(args ...any) (any, error) {
		if len(args) != 1 {
			return nil, fmt.Errorf("%w: greet takes a name", runtime.ErrInvalidArgument)
		}
		return fmt.Sprintf("hello, %v", args[0]), nil
	})
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	if err := runtime.RegisterGlobal("example.greet", f, false); err != nil {
		log.Fatal(err)
	}
	defer runtime.RemoveGlobal("example.greet")

	greet, err := runtime.Global("example.greet")
	if err != nil {
		log.Fatal(err)
	}
	defer greet.Close()
	fmt.Println(greet.Call("world"))
	_, err = greet.Call()
	fmt.Println(errors.Is(err, runtime.ErrInvalidArgument), err)
	// Output:
	// hello, world <nil>
	// true call function: invalid argument: greet takes a name
}
