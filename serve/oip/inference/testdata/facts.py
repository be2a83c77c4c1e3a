"""Prints the messages and calls of a client of the Open Inference Protocol, for the tests of this package:

    python facts.py tritonclient.grpc.model_config_pb2 tritonclient.grpc.service_pb2 > triton.txt
    python facts.py grpc_predict_v2_pb2 > kserve.txt  # with the folder kserve/protocol/grpc in PYTHONPATH
"""
import importlib
import sys

from google.protobuf import descriptor_pb2

FIELD = descriptor_pb2.FieldDescriptorProto


def messages(all, prefix):
    for m in all:
        name = prefix + m.name
        yield f"message {name}"
        for f in m.field:
            type = f.type_name.rpartition(".")[2] or FIELD.Type.Name(f.type)[len("TYPE_"):].lower()
            label = "repeated " if f.label == FIELD.LABEL_REPEATED else ""
            yield f"{name} {f.number} {f.name} {label}{type}"
        yield from enums(m.enum_type, name + ".")
        yield from messages(m.nested_type, name + ".")


def enums(all, prefix):
    for e in all:
        for v in e.value:
            yield f"{prefix}{e.name} {v.number} {v.name}"


def calls(services):
    for s in services:
        for m in s.method:
            kind = ("in " if m.client_streaming else "") + ("out " if m.server_streaming else "")
            yield f"call {s.name} {m.name} {kind}{m.input_type[1:]} {m.output_type[1:]}"


for name in sys.argv[1:]:
    file = descriptor_pb2.FileDescriptorProto()
    importlib.import_module(name).DESCRIPTOR.CopyToProto(file)
    for facts in (messages(file.message_type, ""), enums(file.enum_type, ""), calls(file.service)):
        for fact in facts:
            print(fact)
