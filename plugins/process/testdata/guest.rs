//! A plugin in Rust for the tests of this package.
#[path = "../../../sdk/rust/tenon.rs"]
mod tenon;

use tenon::{deny, halt, json, Call, Error, Hook, Plugin, Tool, Value};

fn hook(name: &str) -> Hook {
    Hook::at("chat.params").with("name", name)
}

fn tool(id: &str) -> Tool {
    Tool::new(id, "", json(r#"{"type": "object"}"#))
}

fn output(text: &str) -> Result<Value, Error> {
    Ok(Value::object([("output", text.into())]))
}

fn kv(call: &Call, key: &str, value: &str) -> Result<String, Error> {
    call.operation("kv.set", Value::object([("key", key.into()), ("value", value.into())]))?;
    Ok(call.operation("kv.get", Value::object([("key", key.into())]))?["value"].str().to_string())
}

fn main() {
    Plugin::new("guest-plain", "1.2.3", "")
        .options(json(r#"{"type": "object", "properties": {"add": {"type": "number", "default": 0.5}}}"#))
        .capability("kv", &[], "")
        .capability("ask", &[], "")
        .hook(hook("warm").reads(&[""]).writes(&[""]), |_, value, call| {
            let sum = value["temperature"].number().unwrap_or(0.0) + call.options["add"].number().unwrap_or(0.0);
            value.set("temperature", sum);
            Ok(None)
        })
        .hook(hook("nothing").reads(&[""]).writes(&[""]), |_, _, _| Ok(None))
        .hook(hook("returned").reads(&[""]).writes(&[""]), |_, _, _| Ok(Some(json(r#"{"temperature": 2}"#))))
        .hook(hook("itself").reads(&[""]).writes(&[""]), |_, value, _| {
            value.set("message", Value::object([("role", "user".into())]));
            Ok(None)
        })
        .hook(hook("blind").writes(&["/options"]), |_, _, _| Err("no options".into()))
        .hook(hook("error"), |_, _, _| Err("no luck today".into()))
        .hook(hook("refuse"), |_, _, _| Err(deny("not today")))
        .hook(hook("list").writes(&["/options/list/-"]), |_, value, _| {
            value["options"]["list"].push("a");
            Ok(None)
        })
        .hook(hook("huge").writes(&[""]), |_, value, _| {
            value["options"].set("x", "x".repeat(16 << 20));
            Ok(None)
        })
        .hook(hook("count"), |_, _, call| Ok(Some(Value::object([("reason", kv(call, "count", "1")?.into())]))))
        .tool(tool("echo"), |args, _| Ok(Value::object([("title", "echo".into()), ("output", args.to_string().into())])))
        .tool(tool("big"), |_, call| {
            call.log(0, &"x".repeat(17 << 20));
            call.progress(&"x".repeat(17 << 20), Value::Null);
            output(&kv(call, "k", &"x".repeat(17 << 20))?)
        })
        .tool(tool("throw"), |_, _| panic!("boom"))
        .tool(tool("refuse"), |_, _| Err(halt("not on a Sunday")))
        .tool(tool("steps"), |_, call| {
            for n in 0..3i64 {
                call.progress(&format!("step {}", n), Value::object([("n", n.into())]));
            }
            output("done")
        })
        .tool(tool("ask"), |_, call| {
            call.ask("deploy", &["prod"])?;
            output("granted")
        })
        .tool(tool("kv"), |_, call| output(&kv(call, "k", "v")?))
        .tool(tool("secret"), |_, call| call.operation("secret", Value::object([("name", "TOKEN".into())])))
        .tool(tool("inherit"), |_, _| {
            let status = std::process::Command::new("sh").args(["-c", "exec 2>/dev/null; : >&3"]).status();
            output(if status.map_or(false, |s| s.success()) { "true" } else { "false" })
        })
        .tool(tool("wait"), |_, call| {
            call.progress("waiting", Value::Null);
            call.wait();
            Err("over".into())
        })
        .tool(tool("deploy"), |_, _| output("done"))
        .prepare(|args, _| {
            let request = Value::object([("permission", "deploy".into()), ("patterns", vec![args["to"].clone()].into())]);
            Ok(vec![request].into())
        })
        .run()
}
