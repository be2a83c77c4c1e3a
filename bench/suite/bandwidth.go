package suite

import (
	"context"
	"fmt"

	"tvmgo/bench"
	"tvmgo/dlpack"
	"tvmgo/internal/memory"
	"tvmgo/runtime"
)

// copySizes are powers of four, from 4 KiB to 256 MiB.
var copySizes = []int64{4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20}

// pairSize is the size of copies between two devices and of those in both directions.
const pairSize = 64 << 20

// Bandwidth returns the cases of suite bandwidth: copies between host and device, on a device, and between devices. A
// copied byte counts once, as in nvbandwidth and clpeak, although it is read and written. [MemoryKernels] follow.
func Bandwidth() []*bench.Case { return append(copies(), MemoryKernels()...) }

// copies returns the cases that copy memory.
func copies() (list []*bench.Case) {
	for _, f := range []struct {
		family, doc string
		open        func(size int64) opener
	}{
		{"host_to_device_memcpy_ce", "copy page-locked memory of the host to the device",
			func(n int64) opener { return openHostCopy(n, true, true) }},
		{"device_to_host_memcpy_ce", "copy memory of the device to page-locked memory of the host",
			func(n int64) opener { return openHostCopy(n, true, false) }},
		{"host_to_device_memcpy_pageable", "copy ordinary memory of the host to the device",
			func(n int64) opener { return openHostCopy(n, false, true) }},
		{"device_to_host_memcpy_pageable", "copy memory of the device to ordinary memory of the host",
			func(n int64) opener { return openHostCopy(n, false, false) }},
		{"device_local_copy", "copy memory of the device by its driver; on a CPU, by memcpy", openLocalCopy},
	} {
		for _, n := range copySizes {
			list = append(list, copyCase(f.family, n, f.doc, f.open(n)))
		}
	}
	return append(list,
		copyCase("host_to_device_bidirectional_memcpy_ce", pairSize,
			"copy to the device, while twice as much is copied back by another stream", openBidirectional(pairSize, true)),
		copyCase("device_to_host_bidirectional_memcpy_ce", pairSize,
			"copy to the host, while twice as much is copied to the device by another stream",
			openBidirectional(pairSize, false)),
		copyCase("device_to_device_memcpy_read_ce", pairSize,
			"copy memory of another device of the same kind, in a stream of this device", openPeerCopy(pairSize, true)),
		copyCase("device_to_device_memcpy_write_ce", pairSize,
			"copy to another device of the same kind, in a stream of this device", openPeerCopy(pairSize, false)))
}

func copyCase(family string, size int64, doc string, open opener) *bench.Case {
	return &bench.Case{Suite: "bandwidth", Name: family + "_" + sizeName(size), Family: "bandwidth/" + family,
		Doc: doc + ": " + memory.Text(size), Figure: bench.Bandwidth, Variants: variant(open)}
}

// copying is a copy between two tensors of bytes.
type copying struct {
	bench.Calls
	from, to *runtime.Tensor
	pattern  pattern
}

// newCopying returns a copy that the default stream of a device executes. If the host takes part, as in copies of
// ordinary memory, only the wall clock sees all of it.
func newCopying(on *bench.Device, r *resources, from, to *runtime.Tensor, byHost bool) *copying {
	return &copying{from: from, to: to, Calls: bench.Calls{On: on.Handle, Do: bench.Amount{Bytes: float64(from.Size())},
		Call: func() error { return to.CopyFromTensor(from, nil) }, Free: []func() error{r.Close},
		WallOnly: byHost}}
}

// Check copies new bytes over others, and compares all of them.
func (c *copying) Check(ctx context.Context) (string, error) {
	return c.pattern.check(c.from, c.to, func() error {
		if err := c.Call(); err != nil {
			return err
		}
		return runtime.SyncDevice(ctx, c.On)
	})
}

// check writes new bytes to from and others to to, runs a copy and waits for it, and compares all bytes.
func (p *pattern) check(from, to *runtime.Tensor, run func() error) (string, error) {
	p.seed++
	if err := p.write(from); err != nil {
		return "", err
	}
	p.negate = true
	err := p.write(to)
	p.negate = false
	if err != nil {
		return "", err
	}
	if err := run(); err != nil {
		return "", err
	}
	return fmt.Sprintf("all %d bytes are compared", from.Size()), p.compare(to)
}

// bytesOn allocates bytes on a device.
func bytesOn(dev dlpack.Device, size int64, r *resources) (*runtime.Tensor, error) {
	return keep(runtime.NewTensor(dlpack.UInt8, []int64{size}, dev))(r)
}

// bytesOnHost allocates bytes of the host, page-locked for a device or ordinary ones.
func bytesOnHost(on *bench.Device, size int64, pinned bool, r *resources) (*runtime.Tensor, error) {
	if pinned {
		return keep(runtime.NewPinnedTensor(dlpack.UInt8, []int64{size}, on.Handle))(r)
	}
	return bytesOn(runtime.CPU, size, r)
}

// notOnCPU is the reason why copies between host and device are not measured on a CPU.
func notOnCPU(on *bench.Device) error {
	if on.Handle.Type == dlpack.CPU {
		return notMeasured("the memory of a CPU is the host's: bandwidth/device_local_copy measures a copy in it")
	}
	return nil
}

// openHostCopy prepares a copy between the host and the device.
func openHostCopy(size int64, pinned, toDevice bool) opener {
	return func(_ context.Context, on *bench.Device, r *resources) (bench.Work, error) {
		if err := notOnCPU(on); err != nil {
			return nil, err
		}
		if err := needMemory(on, size, size); err != nil {
			return nil, err
		}
		host, err := bytesOnHost(on, size, pinned, r)
		if err != nil {
			return nil, err
		}
		device, err := bytesOn(on.Handle, size, r)
		if err != nil {
			return nil, err
		}
		if toDevice {
			return newCopying(on, r, host, device, !pinned), nil
		}
		return newCopying(on, r, device, host, !pinned), nil
	}
}

// openLocalCopy prepares a copy in the memory of the device.
func openLocalCopy(size int64) opener {
	return func(_ context.Context, on *bench.Device, r *resources) (bench.Work, error) {
		if err := needMemory(on, 2*size, 0); err != nil {
			return nil, err
		}
		from, err := bytesOn(on.Handle, size, r)
		if err != nil {
			return nil, err
		}
		to, err := bytesOn(on.Handle, size, r)
		if err != nil {
			return nil, err
		}
		return newCopying(on, r, from, to, on.Handle.Type == dlpack.CPU), nil
	}
}

// openPeerCopy prepares a copy from (read) or to another device of the same kind, by the stream of this device.
func openPeerCopy(size int64, read bool) opener {
	return func(_ context.Context, on *bench.Device, r *resources) (bench.Work, error) {
		if err := notOnCPU(on); err != nil {
			return nil, err
		}
		peer, err := peerOf(on)
		if err != nil {
			return nil, err
		}
		for _, d := range []*bench.Device{on, peer} {
			if err := needMemory(d, size, 0); err != nil {
				return nil, err
			}
		}
		here, err := bytesOn(on.Handle, size, r)
		if err != nil {
			return nil, err
		}
		there, err := bytesOn(peer.Handle, size, r)
		if err != nil {
			return nil, err
		}
		from, to := here, there
		if read {
			from, to = there, here
		}
		s, err := keep(runtime.NewStream(on.Handle))(r)
		if err != nil {
			return nil, err
		}
		return &streamCopy{resources: r, from: from, to: to, stream: s, byHost: true}, nil
	}
}

// peerOf returns another device of the same kind.
func peerOf(on *bench.Device) (*bench.Device, error) {
	for id := range 64 {
		if d := (dlpack.Device{Type: on.Handle.Type, ID: int32(id)}); d != on.Handle && runtime.DeviceExists(d) {
			return &bench.Device{Name: d.String(), Handle: d}, nil
		}
	}
	return nil, notMeasured("%s is the only device of its kind", on.Name)
}

// openBidirectional prepares a copy, while another stream copies twice as much in the opposite direction.
func openBidirectional(size int64, toDevice bool) opener {
	return func(_ context.Context, on *bench.Device, r *resources) (bench.Work, error) {
		if err := notOnCPU(on); err != nil {
			return nil, err
		}
		a, b, err := openStreams(on, r)
		if err != nil {
			return nil, err
		}
		if err := needMemory(on, 3*size, 3*size); err != nil {
			return nil, err
		}
		var t [4]*runtime.Tensor // host and device of the copy, and of the opposite one
		for i := range t {
			n := size * int64(1+i/2)
			if i%2 == 0 {
				t[i], err = bytesOnHost(on, n, true, r)
			} else {
				t[i], err = bytesOn(on.Handle, n, r)
			}
			if err != nil {
				return nil, err
			}
		}
		c := &streamCopy{resources: r, from: t[0], to: t[1], stream: a,
			against: &streamCopy{from: t[3], to: t[2], stream: b}}
		if !toDevice {
			c.from, c.to, c.against.from, c.against.to = t[1], t[0], t[2], t[3]
		}
		return c, nil
	}
}
