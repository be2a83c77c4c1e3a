package inference

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/runtime/protoiface"
)

// reflected makes a message with an encoding of its own: package proto calls methods instead of walking the fields. The
// other methods are those of an empty message of the same type.
type reflected struct {
	protoreflect.Message
	of      proto.Message
	methods *protoiface.Methods
}

func (r reflected) Interface() protoreflect.ProtoMessage { return r.of }
func (r reflected) IsValid() bool                        { return true }
func (r reflected) ProtoMethods() *protoiface.Methods    { return r.methods }

// initialized is the method CheckInitialized of a message without required fields.
func initialized(protoiface.CheckInitializedInput) (out protoiface.CheckInitializedOutput, _ error) {
	return out, nil
}

// reader returns a message that is read by a function. The bytes are valid only during the call.
func reader(of, like proto.Message, read func(b []byte) error) protoreflect.Message {
	return reflected{like.ProtoReflect(), of, &protoiface.Methods{
		Unmarshal: func(in protoiface.UnmarshalInput) (out protoiface.UnmarshalOutput, _ error) {
			out.Flags = protoiface.UnmarshalInitialized
			return out, read(in.Buf)
		},
		CheckInitialized: initialized,
	}}
}

// writer returns a message of size bytes that is written by a function, which appends it to its argument.
func writer(of, like proto.Message, size int, write func(b []byte) []byte) protoreflect.Message {
	return reflected{like.ProtoReflect(), of, &protoiface.Methods{
		Size: func(protoiface.SizeInput) (out protoiface.SizeOutput) {
			out.Size = size
			return out
		},
		Marshal: func(in protoiface.MarshalInput) (out protoiface.MarshalOutput, _ error) {
			out.Buf = write(in.Buf)
			return out, nil
		},
		CheckInitialized: initialized,
	}}
}
