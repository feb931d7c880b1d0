"""The library for tenon plugins in Python: one module, no dependencies, Python 3.8 or newer.

It speaks the line protocol of https://github.com/tenonhq/tenon/blob/main/docs/process-protocol.md.

    from tenon import Plugin

    plugin = Plugin("house-rules", "0.1.0")

    @plugin.hook("chat.system.transform", writes=["/system/-"])
    def rules(input, value, call):
        value["system"].append("Answer in one sentence.")

    plugin.run()

Hooks run one after the other in the thread that reads the connection; a hook that waits for the host lets another thread read meanwhile.
Every tool call has its own thread.
"""

import io
import json
import os
import sys
import threading
import time

VERSION = 1  # of the protocol
MAX_MESSAGE = 16 << 20  # bytes of a message; the host ends a plugin that sends more
MAX_LOGGED = 1 << 20  # characters of a message in the log, as in Go's library
MAX_ERROR = 256 << 10  # characters of an error
METHOD_NOT_FOUND = -32601
GATES = ("permission.ask", "turn.stop")
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_decode = json.JSONDecoder().raw_decode  # json.loads would detect the encoding first
STATUSES = {1: "failed", 2: "denied", 3: "unknown", 4: "limited"}

_STDOUT = 1  # for the description or the handshake; until then, what the plugin prints goes to stderr, and so to the log
if "--describe" in sys.argv[1:] or os.environ.get("TENON_PLUGIN"):
    _STDOUT = os.dup(1)
    os.dup2(2, 1)


class Refusal(Exception):
    """A handler raises it to refuse a tool call, or a hook's call at a point that may deny. With halt, the turn ends."""

    def __init__(self, reason, halt=False):
        super().__init__(reason)
        self.halt = halt


class HostError(Exception):
    """A failed request to the host. code is "failed", "denied", "unknown" or "limited"."""

    def __init__(self, code, operation, message):
        name = operation + ": "  # the host names the operation, too
        message = message[len(name):] if message.startswith(name) else message
        super().__init__(name + ("not granted: " if code == "denied" else "") + message)
        self.code = code


class ProviderError(Exception):
    """A failed request to a model. fields are those of ProviderError in the documentation, such as status_code and headers."""

    def __init__(self, **fields):
        super().__init__(fields.get("message") or fields.get("cause") or "request failed")
        self.fields = fields


class _MethodNotFound(Exception):
    pass


_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object"}


def schema_of(cls):
    """Returns the JSON schema of a class with annotations: fields without a default are required. A schema is returned unchanged."""
    if cls is None or isinstance(cls, dict):
        return cls
    properties, required = {}, []
    hints = getattr(cls, "__annotations__", {})
    if any(isinstance(kind, str) for kind in hints.values()):  # from __future__ import annotations
        from typing import get_type_hints  # not above: importing it takes longer than everything else here

        hints = get_type_hints(cls)
    for name, kind in hints.items():
        origin = getattr(kind, "__origin__", kind)
        if origin not in _TYPES:
            raise TypeError("%s.%s: no JSON type for %r; use str, int, float, bool, list or dict" % (cls.__name__, name, kind))
        properties[name] = {"type": _TYPES[origin]}
        items = getattr(kind, "__args__", None)
        if origin is list and items and items[0] in _TYPES:
            properties[name]["items"] = {"type": _TYPES[items[0]]}
        if hasattr(cls, name):
            properties[name]["default"] = getattr(cls, name)
        else:
            required.append(name)
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        schema["required"] = required
    return schema


def _typed(cls, values):
    """Returns an object of the class with these values; without a class, the values."""
    values = values or {}
    if cls is None or isinstance(cls, dict):
        defaults = {k: _clone(p["default"]) for k, p in (cls or {}).get("properties", {}).items() if "default" in p}
        return {**defaults, **values}
    out = object.__new__(cls)
    for name in getattr(cls, "__annotations__", {}):
        if name in values:
            setattr(out, name, values[name])
        elif hasattr(cls, name):
            setattr(out, name, _clone(getattr(cls, name)))
    return out


def _check(run, *parameters):
    """Raises an error for a function that does not take the parameters, or a coroutine function, which would return without running."""
    code = getattr(run, "__code__", None)
    if code and code.co_argcount != len(parameters) and not code.co_flags & 4 and not getattr(run, "__defaults__", None) and not hasattr(run, "__self__"):
        raise TypeError("%s: write def %s(%s)" % (run.__name__, run.__name__, ", ".join(parameters)))
    if code and code.co_flags & 0x80:  # inspect.CO_COROUTINE
        raise TypeError("%s: write def instead of async def" % run.__name__)


class Plugin:
    """A plugin. Its description, and so its plugin.json, follows from it: tenon plugin sync-manifest writes it."""

    def __init__(self, name, version="", description="", options=None, capabilities=(), providers=(), agents=(), commands=()):
        self.name, self.version, self.description, self.options = name, version, description, options
        self.lists = {"capabilities": capabilities, "providers": providers, "agents": agents, "commands": commands}
        self.hooks, self.tools, self.protocols, self.auth_methods = [], {}, {}, {}
        self.on_start = self.on_stop = None

    def hook(self, point, **declared):
        """Declares a hook: name, reads, writes, priority, before, after, onError, timeout as in plugin.json."""

        def add(run):
            _check(run, "input", "value", "call")
            self.hooks.append(({"point": point, **declared}, run))
            return run

        return add

    def tool(self, id, description, parameters=None, prepare=None, **declared):
        """Declares a tool. parameters is a JSON schema, or a class with annotations, of which the arguments are then an object."""

        def add(run):
            _check(run, "args", "call")
            self.tools[id] = ({"id": id, "description": description, "parameters": schema_of(parameters) or {"type": "object"}, **declared}, run, prepare, parameters)
            return run

        return add

    def protocol(self, name, list_models=None):
        """Declares a wire protocol of model providers: a generator of events, called with (request, connection, call)."""

        def add(stream):
            self.protocols[name] = (stream, list_models)
            return stream

        return add

    def auth(self, provider, id, name="", refresh=None, headers=None):
        """Declares a sign-in to a provider: a function that returns a token, {"access", "refresh", "expires", "metadata"}, called with (call).
        The operations signin.notice, signin.code and signin.visit reach the user. refresh(token, call) returns a new token; without headers(token,
        call), access is sent as a bearer token."""

        def add(login):
            declared = {"provider": provider, "id": id, "name": name, "refreshes": bool(refresh), "headers": bool(headers)}
            actions = {"login": lambda token, call: login(call), "refresh": refresh, "headers": headers}
            self.auth_methods[provider, id] = ({k: v for k, v in declared.items() if v}, actions)
            return login

        return add

    def start(self, run):
        """Declares the function that is called before all others, with a call that belongs to no session."""
        self.on_start = run
        return run

    def stop(self, run):
        """Declares the function that is called at the end, without arguments."""
        self.on_stop = run
        return run

    def describe(self):
        """Returns the description: the part of plugin.json that follows from the code."""
        tools = [{**declared, **({"prepares": True} if prepare else {})} for declared, _, prepare, _ in self.tools.values()]
        all = {"name": self.name, "version": self.version, "description": self.description, "hooks": [d for d, _ in self.hooks],
               "tools": tools, "options": schema_of(self.options), "protocols": list(self.protocols),
               "auth": [declared for declared, _ in self.auth_methods.values()], **{k: list(v) for k, v in self.lists.items()}}
        return {k: v for k, v in all.items() if v}

    def run(self):
        """Runs the plugin. With the argument --describe the program prints its description and ends."""
        if "--describe" in sys.argv[1:]:
            with os.fdopen(_STDOUT, "w", encoding="utf-8", closefd=False) as stdout:
                stdout.write(json.dumps(self.describe(), indent=2, ensure_ascii=False) + "\n")
            return
        if os.environ.get("TENON_PLUGIN") != "tenon.v1.Plugin":
            sys.exit('%s is a plugin of tenon, and tenon starts it. Try: tenon run --plugin . "a prompt"\n--describe prints its contributions.' % self.name)
        _Server(self).serve()


class Call:
    """A call of the host. Its methods send requests to the host."""

    def __init__(self, server, message):
        params = message.get("params") or {}
        self._server, self._token, self.id = server, params.get("token"), message.get("id")
        timeout = params.get("timeout_ms") or 0
        self._deadline = time.monotonic() + timeout / 1000 if timeout else None
        self._canceled = None
        self.tool = None  # in a tool call: tool, callID, sessionID, messageID, agent, args, directory, worktree

    @property
    def options(self):
        """The user's options, with defaults: an object of the plugin's class of options, or a dict."""
        return self._server.options

    @property
    def project(self):
        return self._server.project

    @property
    def canceled(self):
        """True if the host no longer waits."""
        return self._canceled is True or self._deadline is not None and time.monotonic() >= self._deadline

    def wait(self, seconds=None):
        """Waits until the host no longer waits for the call, at most for the given time. Returns whether the host no longer waits."""
        self._server.hand_over()
        with self._server.changed:
            self._canceled = self._canceled or False
            end = None if seconds is None else time.monotonic() + seconds
            while not self.canceled:
                times = [t for t in (end, self._deadline) if t is not None]
                left = min(times) - time.monotonic() if times else None
                if left is not None and left <= 0:
                    break
                self._server.changed.wait(left)
        return self.canceled

    def progress(self, title, metadata=None):
        """Shows the user the progress of a tool call."""
        self._server.notify("progress", {"id": self.id, "title": title, **({"metadata": metadata} if metadata else {})})

    def log(self, message, level=0, **attributes):
        """Writes to the log of the host; level is -4 (debug), 0, 4 (warning) or 8 (error)."""
        self._server.notify("log", {"level": level, "message": str(message)[:MAX_LOGGED], "attributes": attributes})

    def operation(self, name, request=None):
        """Uses an ability of the host by the name of its operation; see docs/abilities.md of tenon."""
        params = {"name": name, "request": request or {}}
        if self._token:
            params["token"] = self._token
        answer = self._server.request("operation", params)
        if "error" in answer:
            raise HostError(STATUSES.get(answer["error"]["code"], "unknown"), name, answer["error"]["message"])
        return answer.get("result")

    def get(self, key):
        """Returns the stored value, or None."""
        answer = self.operation("kv.get", {"key": key})
        return answer["value"] if answer["found"] else None

    def set(self, key, value):
        self.operation("kv.set", {"key": key, "value": value})

    def delete(self, key):
        self.operation("kv.delete", {"key": key})

    def secret(self, name):
        return self.operation("secret", {"name": name})["value"]

    def fetch(self, url, **request):
        return self.operation("http", {"url": url, **request})

    def call_tool(self, tool, args=None):
        return self.operation("tool", {"tool": tool, "args": args or {}})

    def messages(self):
        return self.operation("session")["messages"]

    def ask(self, permission, patterns, always=(), metadata=None):
        """Asks for permission; raises Refusal if it is not granted."""
        try:
            self.operation("ask", {"permission": permission, "patterns": list(patterns), "always": list(always), "metadata": metadata or {}})
        except HostError as e:
            if e.code == "failed":
                raise Refusal(str(e)) from None
            raise

    def sample(self, **request):
        return self.operation("sample", request)


class _Server:
    def __init__(self, plugin):
        self.plugin, self.options, self.project = plugin, None, {}
        self.hooks, self.tools = [], []
        self.running, self.waiting, self.last = {}, {}, 0
        self.started = False
        self.writing = threading.Lock()
        self.changed = threading.Condition()
        self.reader = threading.current_thread()

    def serve(self):
        self.connect()
        if isinstance(sys.stdout, io.TextIOWrapper):  # a plugin may have replaced it
            sys.stdout.reconfigure(line_buffering=True)  # after the handshake: this writes what is printed so far
        self.read()
        threading.Event().wait()  # another thread reads, and ends the process

    def connect(self):
        """Opens the connection: file descriptor 3, or the standard streams, on which then nothing else may be printed. Then it prints the
        handshake."""
        greeting = b"1|%d|stdio||jsonrpc|\n" % VERSION
        if os.environ.get("TENON_LINES") == "stdio":
            self.out, self.input = _STDOUT, os.fdopen(0, "rb", 1 << 16)
            os.write(self.out, greeting)
            return
        os.set_inheritable(3, False)
        self.out, self.input = 3, os.fdopen(3, "rb", 1 << 16)
        os.dup2(_STDOUT, 1)
        os.write(1, greeting)

    def hand_over(self):
        """Lets another thread read while this one waits."""
        if self.reader is threading.current_thread():
            self.reader = threading.Thread(target=self.read, daemon=True)
            self.reader.start()

    def read(self):
        me = threading.current_thread()
        if self.reader is not me and me is not threading.main_thread():
            self.reader = me
        while True:
            line = self.input.readline()
            if not line.endswith(b"\n"):
                self.end()
            if len(line) == 1:
                continue
            m, _ = _decode(line.decode())
            method = m.get("method")
            if method == "hook":
                self.call(m)
                if self.reader is not me:
                    return
            elif method is None or method == "cancel":
                self.note(m)
            elif "id" in m:
                threading.Thread(target=self.call, args=(m,), daemon=True).start()

    def note(self, m):
        with self.changed:
            if "method" not in m:
                if m["id"] in self.waiting:
                    self.waiting[m["id"]] = m
            else:
                call = self.running.get(m["params"]["id"])
                if call:
                    call._canceled = True
            self.changed.notify_all()

    def end(self):
        timer = threading.Timer(2, os._exit, (0,))
        timer.daemon = True
        timer.start()
        try:
            self.stop()
        finally:
            sys.stderr.flush()
            os._exit(0)

    def stop(self):
        if self.started:
            self.started = False
            if self.plugin.on_stop:
                self.plugin.on_stop()

    def write(self, message):
        self.write_line(message.get("method", "error"), _encode(message))

    def write_line(self, what, text):
        data = text.encode("utf-8", "replace") + b"\n"
        if len(data) > MAX_MESSAGE:
            raise ValueError("the %s has %d bytes, at most %d MiB are passed on" % (what, len(data), MAX_MESSAGE >> 20))
        with self.writing:
            sent = os.write(self.out, data)
            while sent < len(data):
                sent += os.write(self.out, data[sent:])

    def notify(self, method, params):
        self.write({"jsonrpc": "2.0", "method": method, "params": params})

    def request(self, method, params):
        self.hand_over()
        with self.changed:
            self.last += 1
            id = self.last
            self.waiting[id] = None
        try:
            self.write({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        except BaseException:
            self.waiting.pop(id)
            raise
        with self.changed:
            while self.waiting[id] is None:
                self.changed.wait()
            return self.waiting.pop(id)

    def call(self, m):
        id, call = m["id"], Call(self, m)
        self.running[id] = call
        try:
            result = getattr(self, "do_" + m["method"], self.unknown)(m.get("params") or {}, call)
            line = '{"jsonrpc":"2.0","id":%d,"result":%s}' % (id, "null" if result is None else _encode(result))
            self.write_line("answer", line)
        except BaseException as e:
            if not isinstance(e, (Refusal, HostError, ProviderError, _MethodNotFound)):
                call.log("error in the code", level=-4, type=type(e).__name__, at=_place(e))
            try:
                self.write({"jsonrpc": "2.0", "id": id, "error": _problem(e)})
            except (TypeError, ValueError) as late:  # the fields of a ProviderError are too long, or no JSON
                self.write({"jsonrpc": "2.0", "id": id, "error": _problem(late)})
        finally:
            self.running.pop(id, None)

    def unknown(self, params, call):
        raise _MethodNotFound("method not found")

    def do_describe(self, params, call):
        return self.plugin.describe()

    def do_start(self, params, call):
        request = params["request"]
        self.options = _typed(self.plugin.options, request.get("options"))
        self.project = request.get("project") or {}
        for ref in request.get("hooks") or []:
            self.hooks.append(self.find_hook(ref["point"], ref["name"]))
        for id in request.get("tools") or []:
            if id not in self.plugin.tools:
                raise LookupError("the manifest names the tool %s, which the plugin does not have; tenon plugin sync-manifest updates plugin.json" % id)
            self.tools.append(self.plugin.tools[id])
        self.started = True
        if self.plugin.on_start:
            self.plugin.on_start(call)

    def find_hook(self, point, name):
        for declared, run in self.plugin.hooks:
            own = _canonical(declared["point"])
            if own == _canonical(point) and declared.get("name", own) == _canonical(name):
                return run, [w[:-2] for w in declared.get("writes", ()) if w.endswith("/-")], own in GATES
        raise LookupError("the manifest names the hook %s at %s, which the plugin does not have; tenon plugin sync-manifest updates plugin.json" % (name, point))

    def do_hook(self, params, call):
        run, appends, gate = self.hooks[params["hook"]]
        request = params["request"]
        value = request.get("value")
        try:
            for pointer in appends:
                _add_list(value, pointer)
            before = _clone(value)
            answer = run(request["input"], value, call)
            if value is None and not gate:
                return None  # an observer has no answer
            if answer is value:
                answer = None  # the handler returned its value, which is not a verdict even if it has a key with such a name
            if isinstance(answer, dict) and "changes" in answer:
                return answer  # the hook found them itself
            changes = []
            diff(before, value, "", changes)
            wrong = answer not in (None, {}) if gate else answer
            if wrong and not changes and not (isinstance(answer, dict) and answer.keys() & {"verdict", "reason", "message"}):
                raise TypeError("a hook changes its value in place and returns nothing or a verdict; it returned %.80r" % (answer,))
            answer = _verdict(answer)
            return {"changes": changes, **(answer or {})} if changes else answer
        except Refusal as e:
            return {"verdict": "halt" if e.halt else "deny", "reason": str(e)}

    def do_prepare(self, params, call):
        _, _, prepare, parameters = self.tools[params["tool"]]
        call.tool = params["call"]
        requests = prepare(_arguments(parameters, call.tool), call)
        if requests is None:
            raise TypeError("prepare returned None; return a list of permissions, [] if the call needs none")
        return {"requests": list(requests)}

    def do_tool(self, params, call):
        _, run, _, parameters = self.tools[params["tool"]]
        call.tool = params["call"]
        result = run(_arguments(parameters, call.tool), call)
        return {"output": result} if isinstance(result, str) else result

    def do_stream(self, params, call):
        stream, _ = self.plugin.protocols[params["connection"]["protocol"]]
        for event in stream(params["request"], params["connection"], call):
            if call.canceled:
                raise TimeoutError("canceled")
            self.notify("stream_event", {"id": call.id, "event": event})

    def do_list_models(self, params, call):
        _, list_models = self.plugin.protocols[params["connection"]["protocol"]]
        if not list_models:
            raise _MethodNotFound("the protocol has no list of models")
        return list(list_models(params["connection"], call))

    def do_auth(self, params, call):
        request = params["request"]
        _, actions = self.plugin.auth_methods.get((request["provider"], request["method"]), (None, {}))
        run = actions.get(request["action"])
        if not run:
            raise ValueError("the plugin has no %s of the sign-in method %s/%s" % (request["action"], request["provider"], request["method"]))
        result = run(request.get("token"), call)
        return {"headers": result} if request["action"] == "headers" else {"token": result}

    def do_stop(self, params, call):
        self.stop()


def _place(e):
    """Returns the place in the author's code that raised an exception, such as "main.py:3"; empty outside of it."""
    place, at = "", e.__traceback__
    library, root = os.path.abspath(__file__), os.environ.get("PLUGIN_ROOT") or os.path.dirname(os.path.abspath(__file__))
    while at:
        path = os.path.abspath(at.tb_frame.f_code.co_filename)
        if path.startswith(os.path.join(root, "")) and path != library:
            place = "%s:%d" % (os.path.basename(path), at.tb_lineno)
        at = at.tb_next
    return place


def _problem(e):
    text = "%s: %s" % (type(e).__name__, e) if isinstance(e, (KeyError, SystemExit)) else str(e) or type(e).__name__
    if isinstance(e, (TypeError, AttributeError, NameError, LookupError, SystemExit)) and _place(e):
        text += " (%s)" % _place(e)
    if len(text) > MAX_ERROR:
        text = text[:MAX_ERROR] + "…"
    problem = {"code": METHOD_NOT_FOUND if isinstance(e, _MethodNotFound) else 1, "message": text}
    if isinstance(e, Refusal):
        problem["data"] = {"refused": True, "halt": e.halt}
    if isinstance(e, ProviderError):
        problem["data"] = e.fields
    return problem


def _canonical(point):
    return point[len("experimental."):] if point.startswith("experimental.") else point


def _arguments(parameters, tool):
    return tool["args"] if parameters is None or isinstance(parameters, dict) else _typed(parameters, tool["args"])


def _verdict(answer):
    return answer if isinstance(answer, dict) and answer else None


def _clone(v):
    if type(v) is dict:
        return {k: _clone(x) if type(x) in (dict, list) else x for k, x in v.items()}
    if type(v) is list:
        return [_clone(x) if type(x) in (dict, list) else x for x in v]
    return v


def _add_list(value, pointer):
    """Creates an empty list at a pointer if none is there, so that a hook can append to a list that it does not read."""
    segments = [s.replace("~1", "/").replace("~0", "~") for s in pointer.split("/")[1:]]
    for segment in segments[:-1]:
        if segment == "*" or not isinstance(value, dict):
            return
        value = value.setdefault(segment, {})
    if isinstance(value, dict) and segments[-1] != "*" and value.get(segments[-1]) is None:
        value[segments[-1]] = []


def diff(before, after, pointer, changes):
    """Adds the changes that turn before into after. Elements after the last are appended with "-"."""
    if type(before) is dict and type(after) is dict and _same_thing(before, after):
        for key in before:
            if key not in after:
                changes.append({"pointer": pointer + "/" + _escape(key), "remove": True})
        for key, value in after.items():
            if key not in before:
                changes.append({"pointer": pointer + "/" + _escape(key), "value": value})
            elif before[key] is not value:
                diff(before[key], value, pointer + "/" + _escape(key), changes)
    elif type(before) is list and type(after) is list and _diff_list(before, after, pointer, changes):
        pass
    elif type(before) is not type(after) or before != after:
        changes.append({"pointer": pointer, "value": after})


def _same_thing(before, after):
    """Reports whether a dict is still the same part or message: their types and ids cannot be changed."""
    for key in ("id", "type", "role"):
        if key in before and before[key] != after.get(key):
            return False
    return True


def _escape(key):
    return key.replace("~", "~0").replace("/", "~1")


def _diff_list(before, after, pointer, changes):
    common, own = min(len(before), len(after)), []
    for i in range(common):
        if before[i] is not after[i]:
            diff(before[i], after[i], "%s/%d" % (pointer, i), own)
    if own and len(before) != len(after):
        return False
    changes.extend(own)
    for i in range(len(before) - 1, common - 1, -1):
        changes.append({"pointer": "%s/%d" % (pointer, i), "remove": True})
    for value in after[common:]:
        changes.append({"pointer": pointer + "/-", "value": value})
    return True
