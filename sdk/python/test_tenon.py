import contextlib
import io
import sys
import unittest
from typing import List

import tenon


def changes(before, after):
    out = []
    tenon.diff(before, after, "", out)
    return out


class Args:
    name: str
    tags: List[str]
    times: int = 1


class Quoted:
    name: "str"
    tags: "List[str]"
    times: "int" = 1


class Changes(unittest.TestCase):
    def test_objects(self):
        self.assertEqual(changes({"a": 1}, {"a": 1}), [])
        self.assertEqual(
            changes({"a": 1, "b": 2}, {"a": 3, "c/d~": 4}),
            [{"pointer": "/b", "remove": True}, {"pointer": "/a", "value": 3}, {"pointer": "/c~1d~0", "value": 4}],
        )
        self.assertEqual(changes({"a": 1}, {"a": True}), [{"pointer": "/a", "value": True}])
        self.assertEqual(changes({"a": 1}, {"a": None}), [{"pointer": "/a", "value": None}])
        self.assertEqual(changes({}, {"a": None}), [{"pointer": "/a", "value": None}])

    def test_lists(self):
        self.assertEqual(changes({"l": [1]}, {"l": [1, 2]}), [{"pointer": "/l/-", "value": 2}])
        self.assertEqual(changes({"l": [1, 2, 3]}, {"l": [1]}), [{"pointer": "/l/2", "remove": True}, {"pointer": "/l/1", "remove": True}])
        self.assertEqual(changes({"l": [1, 2]}, {"l": [0, 1, 2]}), [{"pointer": "/l", "value": [0, 1, 2]}])

    def test_parts(self):
        self.assertEqual(changes([{"id": "a"}], [{"id": "b"}]), [{"pointer": "/0", "value": {"id": "b"}}])


class Declarations(unittest.TestCase):
    def test_schema_of_a_class(self):
        for cls in Args, Quoted:
            self.assertEqual(
                tenon.schema_of(cls),
                {
                    "type": "object",
                    "properties": {
                        "name": {"type": "string"},
                        "tags": {"type": "array", "items": {"type": "string"}},
                        "times": {"type": "integer", "default": 1},
                    },
                    "additionalProperties": False,
                    "required": ["name", "tags"],
                },
            )

        class Bad:
            when: complex

        with self.assertRaisesRegex(TypeError, "Bad.when: no JSON type"):
            tenon.schema_of(Bad)

    def test_replaced_stdout(self):
        class Read(Exception):
            pass

        def read():
            raise Read

        server = tenon._Server(tenon.Plugin("p", "1.0.0"))
        server.connect = lambda: None
        server.read = read
        with contextlib.redirect_stdout(io.StringIO()), self.assertRaises(Read):
            server.serve()

    def test_description(self):
        plugin = tenon.Plugin("p", "1.0.0")
        plugin.hook("chat.params", writes=["/temperature"])(lambda input, value, call: None)
        plugin.tool("t", "T.", prepare=lambda args, call: [])(lambda args, call: "")
        self.assertEqual(
            plugin.describe(),
            {
                "name": "p",
                "version": "1.0.0",
                "hooks": [{"point": "chat.params", "writes": ["/temperature"]}],
                "tools": [{"id": "t", "description": "T.", "parameters": {"type": "object"}, "prepares": True}],
            },
        )

    def test_coroutine_functions(self):
        async def later(*_):
            pass

        plugin = tenon.Plugin("p")
        for declare in (plugin.hook("chat.params"), plugin.tool("t", "T.")):
            with self.assertRaisesRegex(TypeError, "later: write def"):
                declare(later)

    def test_wrong_parameters(self):
        def pair(one, two):
            pass

        plugin = tenon.Plugin("p")
        with self.assertRaisesRegex(TypeError, r"pair: write def pair\(input, value, call\)"):
            plugin.hook("chat.params")(pair)
        for right in (pair, lambda args, call, more=1: "", lambda *all: "", len, self.assertEqual):
            plugin.tool("t", "T.")(right)

    def test_returned_by_hooks(self):
        def answer(returned, change=False, gate=False, **value):
            server = tenon._Server(tenon.Plugin("p"))
            server.hooks = [(lambda input, value, call: (change and value.append(1), returned)[1], [], gate)]
            return server.do_hook({"hook": 0, "request": {"input": {}, **value}}, None)

        for hook in ({"value": []}, {"gate": True}):  # a transform and a gate
            for returned in ([1], "deny", True, {"temperature": 2}):
                with self.assertRaisesRegex(TypeError, "returns nothing or a verdict; it returned"):
                    answer(returned, **hook)
            self.assertEqual(answer({"verdict": "deny"}, **hook), {"verdict": "deny"})
            self.assertIsNone(answer(None, **hook))
        with self.assertRaisesRegex(TypeError, "it returned False"):
            answer(False, gate=True)
        self.assertIsNone(answer(False, value=[]))
        self.assertIsNone(answer([1]))  # an observer
        self.assertEqual(answer([1], True, value=[]), {"changes": [{"pointer": "/-", "value": 1}]})

    def test_prepare_returns_a_list(self):
        server = tenon._Server(tenon.Plugin("p"))
        server.tools = [(None, None, lambda args, call: None, {})]
        with self.assertRaisesRegex(TypeError, "prepare returned None"):
            server.do_prepare({"tool": 0, "call": {"args": {}}}, tenon.Call.__new__(tenon.Call))

    def test_host_error(self):
        for code, message, text in [("failed", "kv.get: too long", "kv.get: too long"), ("denied", "no", "kv.get: not granted: no")]:
            self.assertEqual(str(tenon.HostError(code, "kv.get", message)), text)

    def test_problems(self):
        for error, text in [(KeyError("city"), "KeyError: 'city'"), (ValueError("no city"), "no city"), (ValueError(), "ValueError")]:
            self.assertEqual(tenon._problem(error), {"code": 1, "message": text})
        for mistake, text in [(lambda: None.city, "'NoneType' object has no attribute 'city'"), (lambda: sys.exit(2), "SystemExit: 2")]:
            try:
                mistake()
            except BaseException as e:
                self.assertRegex(tenon._problem(e)["message"], "^%s \\(test_tenon.py:[0-9]+\\)$" % text)


if __name__ == "__main__":
    unittest.main()
