"""A plugin in Python for the tests of this package."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../sdk/python"))
from tenon import Plugin, ProviderError, Refusal

print("while it is imported", flush=True)


class Options:
    add: float = 0.5


plugin = Plugin("guest-plain", "1.2.3", options=Options, capabilities=[{"name": "kv"}, {"name": "ask"}])
ALL = {"reads": [""], "writes": [""]}


@plugin.hook("chat.params", name="warm", **ALL)
def warm(input, value, call):
    value["temperature"] += call.options.add


@plugin.hook("chat.params", name="nothing", **ALL)
def nothing(input, value, call):
    pass


@plugin.hook("chat.params", name="returned", **ALL)
def returned(input, value, call):
    return {"temperature": 2}


@plugin.hook("chat.params", name="itself", **ALL)
def itself(input, value, call):
    value["message"] = {"role": "user"}
    return value


@plugin.hook("chat.params", name="blind", writes=["/options"])
def blind(input, value, call):
    raise ValueError("no options")


@plugin.hook("chat.params", name="error")
def error(input, value, call):
    raise ValueError("no luck today")


@plugin.hook("chat.params", name="refuse")
def refuse_hook(input, value, call):
    raise Refusal("not today")


@plugin.hook("chat.params", name="list", writes=["/options/list/-"])
def list_hook(input, value, call):
    value["options"]["list"].append("a")


@plugin.hook("chat.params", name="huge", writes=[""])
def huge(input, value, call):
    value["options"] = {"x": "x" * (16 << 20)}


@plugin.hook("chat.params", name="print")
def print_hook(input, value, call):
    print("on stdout")


@plugin.hook("chat.params", name="count")
def count(input, value, call):
    call.set("count", "1")
    return {"reason": call.get("count")}


@plugin.tool("echo", "")
def echo(args, call):
    return {"title": "echo", "output": json.dumps(args, separators=(",", ":"))}


@plugin.tool("big", "")
def big(args, call):
    call.log("x" * (17 << 20))
    try:
        call.set("k", "x" * (17 << 20))
    except ValueError as e:
        assert not call._server.waiting
        raise ProviderError(message=str(e), body="x" * (17 << 20))


@plugin.tool("throw", "")
def throw(args, call):
    raise ValueError("boom")


@plugin.tool("refuse", "")
def refuse(args, call):
    raise Refusal("not on a Sunday", halt=True)


@plugin.tool("steps", "")
def steps(args, call):
    for n in range(3):
        call.progress("step %d" % n, {"n": n})
    return "done"


@plugin.tool("ask", "")
def ask(args, call):
    call.ask("deploy", ["prod"])
    return "granted"


@plugin.tool("kv", "")
def kv(args, call):
    call.set("k", "v")
    call.set("empty", "")
    if call.get("missing") is not None or call.get("empty") != "":
        raise ValueError("a missing value is the same as an empty one")
    return call.get("k")


@plugin.tool("secret", "")
def secret(args, call):
    return call.secret("TOKEN")


@plugin.tool("inherit", "")
def inherit(args, call):
    return "true" if os.system("exec 2>/dev/null; : >&3") == 0 else "false"


@plugin.tool("wait", "")
def wait(args, call):
    call.progress("waiting")
    call.wait()
    raise TimeoutError("over")


@plugin.tool("deploy", "", prepare=lambda args, call: [{"permission": "deploy", "patterns": [args["to"]]}])
def deploy(args, call):
    return "done"


plugin.run()
