"""Prints what Apache TVM's wheel knows of tags: the configs that it registers, the targets that they become, and what
it makes of the configs that come on standard input as {name: config}."""

import json
import sys

registered = {}


def watch(frame, event, _):
    if event == "call" and frame.f_code.co_name == "register_tag":
        registered[frame.f_locals["name"]] = frame.f_locals["config"]


sys.setprofile(watch)
import tvm  # noqa: E402
sys.setprofile(None)


def resolve(config):
    try:
        return json.loads(str(tvm.target.Target(config)))
    except (ValueError, TypeError, RuntimeError) as e:
        return {"error": str(e)}


tags = {str(name): json.loads(str(target)) for name, target in tvm.target.list_tags().items()}
ours = {name: resolve(config) for name, config in json.load(sys.stdin).items()}
json.dump({"registered": registered, "tags": tags, "ours": ours}, sys.stdout)
