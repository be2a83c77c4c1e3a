"""Asks a server as the Python client of Triton does, over HTTP and gRPC.

usage: triton.py HTTP GRPC
The server has a model copy_TYPE for each type, with an input x of two open dimensions, which is also its output.
"""
import queue
import sys

import ml_dtypes
import numpy as np
import tritonclient.grpc as grpc
import tritonclient.http as http
from tritonclient.utils import InferenceServerException

TYPES = {
    "bool": (np.bool_, "BOOL"), "uint8": (np.uint8, "UINT8"), "uint16": (np.uint16, "UINT16"),
    "uint32": (np.uint32, "UINT32"), "uint64": (np.uint64, "UINT64"), "int8": (np.int8, "INT8"),
    "int16": (np.int16, "INT16"), "int32": (np.int32, "INT32"), "int64": (np.int64, "INT64"),
    "float16": (np.float16, "FP16"), "float32": (np.float32, "FP32"), "float64": (np.float64, "FP64"),
    "bfloat16": (ml_dtypes.bfloat16, "BF16"),
}
OUT = "y"
checks = 0


def check(ok, what):
    global checks
    checks += 1
    if not ok:
        sys.exit("FAIL " + what)


def fails(run, *parts):
    try:
        run()
    except InferenceServerException as e:
        for p in parts:
            check(p in str(e), "error %r has no %r" % (str(e), p))
        return
    check(False, "no error with " + repr(parts))


def values(numpy, shape, seed):
    r = np.random.default_rng(seed)
    if numpy == np.bool_:
        return r.integers(0, 2, shape).astype(np.bool_)
    if numpy is not ml_dtypes.bfloat16 and np.issubdtype(numpy, np.integer):
        i = np.iinfo(numpy)
        x = r.integers(i.min, i.max, shape, dtype=numpy, endpoint=True)
        x.flat[:2] = [i.min, i.max][: x.size]
        return x
    return (r.standard_normal(shape) * 8).astype(numpy).astype(np.float32).astype(numpy)


def tensors(client):
    module = http if client is over_http else grpc
    for name, (numpy, datatype) in TYPES.items():
        for k, shape in enumerate([(1, 1), (3, 5), (64, 33), (0, 4)]):
            x = values(numpy, shape, k)
            forms = [(True, True)]
            if client is over_http and name not in ("float16", "bfloat16"):
                forms = [(i, o) for i in (True, False) for o in (True, False)]
            for binary_in, binary_out in forms:
                i = module.InferInput("x", list(shape), datatype)
                if client is over_http:
                    i.set_data_from_numpy(x, binary_data=binary_in)
                    wanted = [module.InferRequestedOutput(OUT, binary_data=binary_out)]
                else:
                    i.set_data_from_numpy(x)
                    wanted = [module.InferRequestedOutput(OUT)]
                got = client.infer("copy_" + name, [i], outputs=wanted, request_id=str(k))
                y = got.as_numpy(OUT)
                check(y.shape == shape, f"{name} {shape}: {y.shape}")
                check(np.array_equal(y, x), f"{name} {shape} {binary_in} {binary_out}: {x} {y}")
                response = got.get_response()
                check((response["id"] if client is over_http else response.id) == str(k), "id")
            # all outputs, without naming them
            i = module.InferInput("x", list(shape), datatype)
            i.set_data_from_numpy(x)
            y = client.infer("copy_" + name, [i]).as_numpy(OUT)
            check(np.array_equal(y, x), f"{name} {shape} all outputs")


def about(client):
    check(client.is_server_live(), "live")
    check(client.is_server_ready(), "ready")
    check(client.is_model_ready("copy_float32"), "model ready")
    check(client.is_model_ready("copy_float32", "1"), "version ready")
    if client is over_http:
        server, model = client.get_server_metadata(), client.get_model_metadata("copy_int8")
        index = {m["name"]: m["state"] for m in client.get_model_repository_index()}
    else:
        server, model = (client.get_server_metadata(as_json=True), client.get_model_metadata("copy_int8", as_json=True))
        index = {m.name: m.state for m in client.get_model_repository_index().models}
    check(server["name"] == "tvmgo" and "binary_tensor_data" in server["extensions"], str(server))
    check(model["inputs"][0]["datatype"] == "INT8" and model["outputs"][0]["name"] == OUT, str(model))
    check([int(d) for d in model["inputs"][0]["shape"]] == [-1, -1], str(model))
    check(len(index) == len(TYPES) and set(index.values()) == {"READY"}, str(index))
    statistics = client.get_inference_statistics("copy_int8")
    check("copy_int8" in str(statistics), str(statistics))


def repository(client):
    client.unload_model("copy_int8")
    check(not client.is_model_ready("copy_int8"), "unloaded")
    client.load_model("copy_int8")
    check(client.is_model_ready("copy_int8"), "loaded")
    fails(lambda: client.load_model("nothing"), "nothing")


def errors(client):
    module = http if client is over_http else grpc

    def ask(model, name="x", shape=(1, 2), datatype="FP32", numpy=np.float32, outputs=None):
        i = module.InferInput(name, list(shape), datatype)
        i.set_data_from_numpy(np.zeros(shape, numpy))
        return lambda: client.infer(model, [i], outputs=outputs)

    fails(ask("copy_floot32"), "copy_floot32", "copy_float32")
    fails(ask("copy_float32", name="z"), '"z"', '"x"')
    fails(ask("copy_float32", shape=(1, 2, 3)), "x")
    fails(ask("copy_float32", datatype="INT32", numpy=np.int32), "int32", "float32")
    fails(ask("copy_float32", outputs=[module.InferRequestedOutput("w")]), '"w"', OUT)
    fails(lambda: client.infer("copy_float32", []), '"x"')
    text = module.InferInput("x", [1, 1], "BYTES")
    text.set_data_from_numpy(np.array([["a"]], dtype=object))
    fails(lambda: client.infer("copy_float32", [text]), "BYTES")
    fails(lambda: client.infer("copy_float32", [ask_input(module)], sequence_id=7), "sequence")


def ask_input(module):
    i = module.InferInput("x", [1, 1], "FP32")
    i.set_data_from_numpy(np.zeros((1, 1), np.float32))
    return i


def many(client):
    """Requests at the same time get their own answers."""
    module = http if client is over_http else grpc
    if client is over_http:
        running = []
        for k in range(100):
            i = module.InferInput("x", [1, 1], "INT64")
            i.set_data_from_numpy(np.array([[k]], np.int64))
            running.append(client.async_infer("copy_int64", [i]))
        for k, r in enumerate(running):
            check(r.get_result().as_numpy(OUT)[0, 0] == k, "asynchronous answer")
        return
    answers = queue.Queue()
    client.start_stream(lambda result, error: answers.put((result, error)))
    for k in range(100):
        i = module.InferInput("x", [1, 1], "INT64")
        i.set_data_from_numpy(np.array([[k]], np.int64))
        client.async_stream_infer("copy_int64" if k % 10 else "nothing", [i], request_id=str(k))
    failed = 0
    for _ in range(100):
        result, error = answers.get(timeout=300)
        if error is not None:
            failed += 1
            continue
        check(str(result.as_numpy(OUT)[0, 0]) == result.get_response().id, "answer of a stream")
    check(failed == 10, "%d failed" % failed)
    client.stop_stream()


over_http = http.InferenceServerClient(sys.argv[1], concurrency=8)
over_grpc = grpc.InferenceServerClient(sys.argv[2])
for c in (over_http, over_grpc):
    about(c)
    tensors(c)
    errors(c)
    many(c)
    repository(c)
for algorithm in ("gzip", "deflate"):
    i = http.InferInput("x", [100, 100], "FP32")
    i.set_data_from_numpy(np.ones((100, 100), np.float32))
    got = over_http.infer("copy_float32", [i], request_compression_algorithm=algorithm)
    check(got.as_numpy(OUT).sum() == 10000, algorithm)
print(checks, "checks passed")
