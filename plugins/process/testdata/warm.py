import os, sys
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../../sdk/python"))
from tenon import Plugin

plugin = Plugin("guest-plain")


@plugin.hook("chat.params", name="warm", reads=[""], writes=[""])
def warm(input, value, call):
    value["temperature"] += 0.5


plugin.run()
