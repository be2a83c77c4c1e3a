"""Asks a server as the Python client of KServe does, over HTTP and gRPC.

usage: kserve.py FOLDER HTTP GRPC
FOLDER has the wheels. The server has a model copy_TYPE for each type, with an input x of two open dimensions, which is
also its output y.
"""
import asyncio
import logging
import pathlib
import sys
import types

import grpc
import httpx
import numpy as np

# The package itself imports the whole of KServe, with the client of Kubernetes. The inference client needs
# little of it.
package = types.ModuleType("kserve")
package.__path__ = [str(pathlib.Path(sys.argv[1]) / "kserve")]
sys.modules["kserve"] = package
from kserve.inference_client import InferenceGRPCClient, InferenceRESTClient, RESTConfig  # noqa: E402
from kserve.protocol.infer_type import InferInput, InferRequest, RequestedOutput  # noqa: E402

URL, GRPC = "http://" + sys.argv[2], sys.argv[3]
TYPES = {
    "bool": "BOOL", "uint8": "UINT8", "uint16": "UINT16", "uint32": "UINT32", "uint64": "UINT64", "int8": "INT8",
    "int16": "INT16", "int32": "INT32", "int64": "INT64", "float16": "FP16", "float32": "FP32", "float64": "FP64",
}
checks = 0


def check(ok, what):
    global checks
    checks += 1
    if not ok:
        sys.exit("FAIL " + what)


async def fails(asked, *parts):
    try:
        await asked
    except (httpx.HTTPStatusError, grpc.RpcError) as e:
        for p in parts:
            check(p in str(e), "error %r has no %r" % (str(e), p))
        return
    check(False, "no error with " + repr(parts))


def request(model, x, datatype, binary, **more):
    i = InferInput("x", list(x.shape), datatype)
    i.set_data_from_numpy(x, binary_data=binary)
    return InferRequest(model, [i], **more)


def values(name, shape, random):
    if name == "bool":
        return random.integers(0, 2, shape).astype(name)
    if name.startswith("float"):
        return (random.standard_normal(shape) * 8).astype(name)
    i = np.iinfo(name)
    x = random.integers(i.min, i.max, shape, dtype=name, endpoint=True)
    x.flat[:2] = [i.min, i.max][: x.size]
    return x


async def tensors(infer, outputs):
    for name, datatype in TYPES.items():
        for k, shape in enumerate([(1, 1), (3, 5), (64, 33), (0, 4)]):
            x = values(name, shape, np.random.default_rng(k))
            for binary in (True, False):
                if name == "float16" and not binary:
                    continue  # neither JSON nor the message has numbers of this type
                if x.size == 0 and binary and infer is not over_grpc:
                    continue  # the client forgets the header with the length of the JSON
                for wanted in outputs:
                    r = request("copy_" + name, x, datatype, binary, request_id=str(k), **wanted)
                    got = await infer("copy_" + name, r)
                    y = got.outputs[0]
                    what = f"{name} {shape} binary={binary} {wanted}"
                    check(got.id == str(k) and got.model_name == "copy_" + name, what)
                    check(y.name == "y" and list(y.shape) == list(shape) and y.datatype == datatype, what)
                    check(np.array_equal(y.as_numpy(), x), f"{what}: {x} {y.as_numpy()}")


async def errors(infer):
    x = np.zeros((1, 2), np.float32)
    await fails(infer("copy_floot32", request("copy_floot32", x, "FP32", True)), "copy_floot32", "copy_float32")
    await fails(infer("copy_float32", request("copy_float32", x.reshape(1, 1, 2), "FP32", True)), "x")
    await fails(infer("copy_float32", request("copy_float32", x.astype(np.int32), "INT32", True)), "int32", "float32")
    wrong = request("copy_float32", x, "FP32", True)
    wrong.inputs[0]._name = "z"
    await fails(infer("copy_float32", wrong), '"z"', '"x"')
    r = request("copy_float32", x, "FP32", True, request_outputs=[RequestedOutput("w")])
    if infer is not over_grpc:  # whose client does not send them
        await fails(infer("copy_float32", r), '"w"', '"y"')


async def many(infer):
    """Requests at the same time get their own answers."""
    asked = [infer("copy_int64", request("copy_int64", np.array([[k]], np.int64), "INT64", True)) for k in range(100)]
    for k, got in enumerate(await asyncio.gather(*asked)):
        check(got.outputs[0].as_numpy()[0, 0] == k, "answers at the same time")


over_grpc = None


async def main():
    global over_grpc
    logging.disable(logging.ERROR)  # it logs each error that it raises
    async with InferenceRESTClient(RESTConfig(protocol="v2")) as rest, InferenceGRPCClient(GRPC, retries=0) as calls:
        def over_http(model, r):
            return rest.infer(URL, r, model_name=model)

        def over_grpc_(model, r):
            return calls.infer(r)

        over_grpc = over_grpc_
        check(await rest.is_server_live(URL) is True, "live")
        check(await rest.is_server_ready(URL) is True, "ready")
        check(await rest.is_model_ready(URL, "copy_int8") is True, "model ready")
        check(await rest.is_model_ready(URL, "nothing") is False, "no such model")
        check(await calls.is_server_live() is True, "live")
        check(await calls.is_server_ready() is True, "ready")
        check(await calls.is_model_ready("copy_int8") is True, "model ready")
        await fails(calls.is_model_ready("nothing"), "nothing")
        forms = [{}, {"request_outputs": [RequestedOutput("y")]}, {"parameters": {"binary_data_output": True}},
                 {"request_outputs": [RequestedOutput("y", {"binary_data": True})]}]
        await tensors(over_http, forms)
        await tensors(over_grpc, [{}])
        for infer in (over_http, over_grpc):
            await errors(infer)
            await many(infer)
    print(checks, "checks passed")


asyncio.run(main())
