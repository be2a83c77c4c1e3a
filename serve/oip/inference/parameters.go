package inference

import (
	"math"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"tvmgo/serve/oip"
)

// parameters are the values of those that this package knows, or has to reject; all others are ignored.
type parameters [len(parameterNames)]parameter

// parameter is an InferParameter: the number of the field that is set, 0 if there is none, and its value.
type parameter struct {
	choice protowire.Number
	bits   uint64
	text   string
}

// The fields of an InferParameter and of an entry of a map.
const (
	choiceBool   protowire.Number = 1
	choiceInt64  protowire.Number = 2
	choiceString protowire.Number = 3
	choiceDouble protowire.Number = 4
	choiceUint64 protowire.Number = 5

	entryKey   protowire.Number = 1
	entryValue protowire.Number = 2
)

// The parameters that this package knows.
const (
	priority = iota
	timeout
	sequenceID
	sequenceStart
	sequenceEnd
	classification
	sharedMemoryRegion
)

var parameterNames = [...]string{"priority", "timeout", "sequence_id", "sequence_start", "sequence_end",
	"classification", "shared_memory_region"}

// add reads an entry of a map of parameters. The last one of a name counts.
func (p *parameters) add(entry []byte) *oip.Error {
	var key []byte
	var v parameter
	err := eachField(entry, func(f wireField) *oip.Error {
		switch {
		case f.is(entryKey, protowire.BytesType):
			key = f.bytes
			return f.checkText()
		case f.is(entryValue, protowire.BytesType):
			return v.read(f.bytes)
		}
		return nil
	})
	for i, name := range parameterNames {
		if string(key) == name {
			p[i] = v
		}
	}
	return err
}

func (v *parameter) read(b []byte) *oip.Error {
	return eachField(b, func(f wireField) *oip.Error {
		switch f.number {
		case choiceBool, choiceInt64, choiceUint64:
			if f.kind != protowire.VarintType {
				return nil
			}
		case choiceDouble:
			if f.kind != protowire.Fixed64Type {
				return nil
			}
		case choiceString:
			if f.kind != protowire.BytesType {
				return nil
			}
		default:
			return nil
		}
		v.choice, v.bits = f.number, f.bits
		if f.number == choiceString {
			return f.text(&v.text)
		}
		return nil
	})
}

// off reports whether a parameter is not there, or has the value that turns off what it is about.
func (v *parameter) off() bool {
	switch v.choice {
	case choiceString:
		return v.text == ""
	case choiceDouble:
		return math.Float64frombits(v.bits) == 0
	}
	return v.bits == 0
}

// natural returns an integer that is not negative; 0 if the parameter is not there.
func (p *parameters) natural(index int) (uint64, *oip.Error) {
	switch v := p[index]; {
	case v.choice == 0 || v.choice == choiceUint64:
		return v.bits, nil
	case v.choice == choiceInt64 && int64(v.bits) >= 0:
		return v.bits, nil
	case v.choice == choiceInt64:
		return 0, oip.Errorf(oip.InvalidArgument, "parameter %s is %d: want 0 or more",
			parameterNames[index], int64(v.bits))
	}
	return 0, oip.Errorf(oip.InvalidArgument, "parameter %s is no integer: use int64_param or uint64_param",
		parameterNames[index])
}

// ofRequest applies the parameters of a request.
func (p *parameters) ofRequest(r *oip.Request) (err *oip.Error) {
	if r.Priority, err = p.natural(priority); err != nil {
		return err
	}
	micros, err := p.natural(timeout)
	if err != nil {
		return err
	}
	r.Timeout = time.Duration(min(micros, uint64(math.MaxInt64/time.Microsecond))) * time.Microsecond
	for i := sequenceID; i <= sequenceEnd; i++ {
		if !p[i].off() {
			return oip.Errorf(oip.Unimplemented, "parameter %s: sequences of requests are not supported: "+
				"send the model's state as inputs and outputs", parameterNames[i])
		}
	}
	return nil
}

const sharedMemory = "shared memory is not supported: send the elements in the message"

// ofInput checks the parameters of an input.
func (p *parameters) ofInput(name string) *oip.Error {
	if !p[sharedMemoryRegion].off() {
		return oip.Errorf(oip.Unimplemented, "input %s: %s", oip.Quoted(name), sharedMemory)
	}
	return nil
}

// ofOutput checks the parameters of a requested output.
func (p *parameters) ofOutput(name string) *oip.Error {
	var why string
	switch {
	case !p[classification].off():
		why = "classification is not supported: ask for the whole output, and sort it"
	case !p[sharedMemoryRegion].off():
		why = strings.Replace(sharedMemory, "send", "receive", 1)
	default:
		return nil
	}
	return oip.Errorf(oip.Unimplemented, "output %s: %s", oip.Quoted(name), why)
}
