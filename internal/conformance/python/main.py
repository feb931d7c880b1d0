"""The plugin of the conformance suite (internal/conformance/plugin_test.go) in Python."""
import json
import os
import re
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../sdk/python"))
from tenon import Plugin, Refusal

NAME = "conformance"
plugin = Plugin(NAME, "1.2.3")
state = {"calls": 0, "options": {}}


def encode(v):
    """Encodes as Go does: its encoder escapes these characters."""
    text = json.dumps(v, ensure_ascii=False, separators=(",", ":"))
    return re.sub("[<>&\u2028\u2029]", lambda m: "\\u%04x" % ord(m.group()), text)


def commit(fault, call):
    if not fault:
        return
    if fault == "panic":
        raise ValueError("strings: negative Repeat count")
    if fault == "hang":
        call.wait()
        raise TimeoutError("canceled")
    if fault == "deaf":
        threading.Event().wait()
    if fault == "loop":
        while True:
            pass
    if fault == "recursion":
        return deeper(1)
    if fault == "memory":
        kept = [bytes([i]) * (1 << 20) for i in range(96)]
        os._exit(137 if kept else 0)
    if fault == "exit":
        os._exit(3)
    if fault == "flood":
        raise ValueError("flood " * ((20 << 20) // 6))
    while fault == "chatter":
        print("stdout " * 1000)
        print("stderr " * 1000, file=sys.stderr)
    raise ValueError("unknown fault " + fault)


def deeper(n):
    sys.setrecursionlimit(1 << 30)  # until the stack is full
    return deeper(n + 1) + 1


def unescape(s):
    return s.replace("~1", "/").replace("~0", "~")


def apply(value, change):
    """Makes a change in a value."""
    pointer, now = change["pointer"], change.get("value")
    segments = [unescape(s) for s in pointer.split("/")[1:]]
    if "/parts/" in pointer and segments[-1] == "type":
        raise ValueError("type of a part or a message cannot be changed")
    if not segments:
        value.clear()
        value.update(now)
        return
    at = value
    for segment in segments[:-1]:
        if isinstance(at, list):
            at = at[int(segment)]
        else:
            if at.get(segment) is None:
                at[segment] = {}
            at = at[segment]
    last = segments[-1]
    if isinstance(at, list):
        if last in ("-", str(len(at))):
            at.append(now)
        elif change.get("remove"):
            del at[int(last)]
        else:
            at[int(last)] = now
    elif change.get("remove"):
        at.pop(last, None)
    else:
        at[last] = now


def nested(depth):
    value = 1
    for _ in range(depth):
        value = {"a": value}
    return value


EXCESSES = {
    "segments": lambda: [{"pointer": "/args" + "/a" * (1 << 20), "value": 1}],
    "pointer": lambda: [{"pointer": "/args/" + "a" * (1 << 20), "value": 1}],
    "changes": lambda: [{"pointer": "/args/a", "value": 1}] * 100_000,
    "bytes": lambda: [{"pointer": "/args/a", "value": "x" * (16 << 20)}],
    "depth": lambda: [{"pointer": "/args/a", "value": nested(9000)}],
    "members": lambda: [{"pointer": "/args", "value": {"k%d" % i: 1 for i in range(8192)}}],
}


def run(hook, input, value, call):
    state["calls"] += 1
    count = state["calls"]
    script = (state["options"].get("hooks") or {}).get(hook)
    while script and script.get("when") and script["when"] not in encode(input):
        script = script.get("otherwise")
    if not script:
        return None
    if script.get("record"):
        call.set(script["record"], encode({"input": input, **({} if value is None else {"value": value})}))
    commit(script.get("fault"), call)
    if script.get("error"):
        raise ValueError(script["error"])
    verdict, reason = script.get("verdict"), script.get("reason")
    if value is None:
        if hook == "turn.stop":
            verdict = verdict or "allow"
        return {k: v for k, v in (("verdict", verdict), ("reason", reason), ("message", script.get("message"))) if v is not None}
    was = encode(value)
    for change in script.get("set") or ():
        apply(value, json.loads(json.dumps(change)))
    for field, text in (("input", encode(input)), ("value", was), ("count", str(count))):
        if script.get(field):
            apply(value, {"pointer": script[field], "value": text})
    if script.get("excess"):
        return {"changes": EXCESSES[script["excess"]]()}
    if verdict in ("deny", "halt"):
        raise Refusal(reason or "", halt=verdict == "halt")
    return None


with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../points.txt")) as points:
    POINTS = points.read().split()
for point in POINTS:
    plugin.hook(point)(lambda input, value, call, point=point: run(point, input, value, call))
plugin.hook("chat.system.transform", name="again")(lambda input, value, call: run("again", input, value, call))


@plugin.tool("echo", "")
def echo(args, call):
    t = call.tool
    fields = ("tool", "sessionID", "messageID", "agent", "directory", "worktree")
    return {
        "title": "echo of " + t["callID"],
        "output": encode(t["args"]),
        "metadata": {**{f: t.get(f) for f in fields}, "big": 12345678901234567890},
        "attachments": [{"type": "file", "mime": "image/png", "filename": "dot.png", "url": "data:image/png;base64,iVBORw0KGgo="}],
        "keepTail": True,
    }


@plugin.tool("progress", "")
def progress(args, call):
    for step in range(1, args["steps"] + 1):
        call.progress("step %d" % step, {"step": step})
    return "done"


@plugin.tool("ask", "")
def ask(args, call):
    call.ask(args["permission"], [args["pattern"]], [args["pattern"]])
    return "granted"


@plugin.tool("count", "")
def count(args, call):
    value = str(int(call.get(args["key"]) or 0) + 1)
    call.set(args["key"], value)
    return value


@plugin.tool("recorded", "")
def recorded(args, call):
    value = call.get(args["key"])
    if value is None:
        raise LookupError("nothing was recorded as " + args["key"])
    return value


@plugin.tool("nested", "")
def nested_call(args, call):
    return "nested: " + call.call_tool(args["tool"], args.get("args"))["output"]


@plugin.tool("secret", "")
def secret(args, call):
    return str(len(call.secret(args["name"])))


@plugin.tool("fail", "")
def fail(args, call):
    commit(args.get("fault"), call)
    raise ValueError(args["text"])


@plugin.tool("big", "")
def big(args, call):
    return "x" * args["bytes"]


def prepare(args, call):
    if args.get("refuse"):
        raise ValueError(args["refuse"])
    return [{"permission": NAME, "patterns": [p], "always": ["*"], "metadata": {"why": "because"}} for p in args.get("patterns") or ()]


plugin.tool("prepared", "", prepare=prepare, permission=NAME, timeout=7000)(echo)


PROVIDER = "conformance-provider"


def account_headers(token, call):
    if token["metadata"]["account"] == "bad":
        return {"X-Account": "a\r\nb"}
    return {"Authorization": "Conformance " + token["access"], "X-Account": token["metadata"]["account"]}


def renewed(token, call):
    return {**token, "access": token["access"] + "+", "refresh": token["refresh"] + "+", "expires": token["expires"] + 1}


@plugin.auth(PROVIDER, "browse", "Conformance account", refresh=renewed, headers=account_headers)
def browse(call):
    call.operation("signin.notice", {"text": "a notice"})
    call.operation("signin.code", {"address": "https://conformance.example/device", "code": "AB-CD"})
    redirect = call.operation("signin.visit", {"address": "https://conformance.example/login"})["redirect"]
    return {"access": "access " + redirect, "refresh": "refresh", "expires": 7, "metadata": {"account": "a1"}}


@plugin.auth(PROVIDER, "plain")
def plain(call):
    return {"access": "0 options"}


@plugin.auth(PROVIDER, "denied")
def denied(call):
    raise ValueError("the user said no")


@plugin.start
def start(call):
    state["options"] = call.options or {}
    script = state["options"].get("start") or {}
    if script.get("record"):
        call.set(script["record"], encode({"options": call.options, "project": call.project}))
    commit(script.get("fault"), call)
    if script.get("error"):
        raise ValueError(script["error"])


plugin.run()
