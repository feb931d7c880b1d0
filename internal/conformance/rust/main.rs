//! The plugin of the conformance suite (internal/conformance/plugin_test.go) in Rust, as a process and as a WASM module.
#[path = "../../../sdk/rust/tenon.rs"]
mod tenon;

use std::sync::atomic::{AtomicUsize, Ordering};
use tenon::{deny, halt, json, Auth, Call, Error, Hook, Plugin, Tool, Value};

const NAME: &str = "conformance";
const POINTS: &str = include_str!("../points.txt");

static CALLS: AtomicUsize = AtomicUsize::new(0);

/// Encodes as Go does: its encoder escapes these characters.
fn encode(v: &Value) -> String {
    let mut out = String::new();
    for c in v.to_string().chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", c as u32)),
            _ => out.push(c),
        }
    }
    out
}

fn commit(fault: &str, call: &Call) -> Result<(), Error> {
    match fault {
        "" => return Ok(()),
        "panic" => panic!("strings: negative Repeat count"),
        "hang" => {
            call.wait();
            return Err("canceled".into());
        }
        "deaf" => loop {
            std::thread::park();
        },
        "loop" => loop {
            std::hint::spin_loop();
        },
        "recursion" => return Err(deeper(1).to_string().into()),
        "memory" => {
            let kept: Vec<Vec<u8>> = (0..96).map(|i| vec![i; 1 << 20]).collect();
            let read = unsafe { std::ptr::read_volatile(&kept[95][1]) }; // an optimizer keeps it
            std::process::exit(if read == 95 { 137 } else { 0 });
        }
        "exit" => std::process::exit(3),
        "flood" => return Err("flood ".repeat((20 << 20) / 6).into()),
        "chatter" => loop {
            println!("{}", "stdout ".repeat(1000));
            eprintln!("{}", "stderr ".repeat(1000));
        },
        _ => {}
    }
    Err(format!("unknown fault {}", fault).into())
}

/// Needs its frame after the call, so that it is not a loop.
#[inline(never)]
fn deeper(n: u64) -> u64 {
    if n == u64::MAX {
        return 0;
    }
    let kept = [n; 64];
    deeper(n + 1) + unsafe { std::ptr::read_volatile(&kept[0]) }
}

fn unescape(s: &str) -> String {
    s.replace("~1", "/").replace("~0", "~")
}

/// Makes a change in a value.
fn apply(value: &mut Value, change: &Value) -> Result<(), Error> {
    let pointer = change["pointer"].str();
    let mut segments: Vec<String> = pointer.split('/').skip(1).map(unescape).collect();
    let last = match segments.pop() {
        Some(last) => last,
        None => {
            *value = change["value"].clone();
            return Ok(());
        }
    };
    if pointer.contains("/parts/") && last == "type" {
        return Err("type of a part or a message cannot be changed".into());
    }
    let mut at = value;
    for segment in &segments {
        at = match at {
            Value::Array(items) => segment.parse::<usize>().ok().and_then(|i| items.get_mut(i)).ok_or("no such element")?,
            other => &mut other[segment.as_str()],
        };
    }
    let remove = change["remove"].bool();
    match at {
        Value::Array(items) => match last.parse::<usize>() {
            Ok(i) if remove => drop(items.remove(i)),
            Ok(i) if i < items.len() => items[i] = change["value"].clone(),
            _ => items.push(change["value"].clone()),
        },
        other if remove => other.remove(&last),
        other => other.set(&last, change["value"].clone()),
    }
    Ok(())
}

fn change(pointer: &str, value: impl Into<Value>) -> Value {
    Value::object([("pointer", pointer.into()), ("value", value.into())])
}

fn excess(name: &str) -> Vec<Value> {
    match name {
        "segments" => vec![change(&format!("/args{}", "/a".repeat(1 << 20)), 1i64)],
        "pointer" => vec![change(&format!("/args/{}", "a".repeat(1 << 20)), 1i64)],
        "changes" => vec![change("/args/a", 1i64); 100_000],
        "bytes" => vec![change("/args/a", "x".repeat(16 << 20))],
        "depth" => {
            let nested = (0..9000).fold(Value::from(1i64), |inner, _| Value::object([("a", inner)]));
            vec![change("/args/a", nested)]
        }
        _ => vec![change("/args", Value::Object((0..8192).map(|i| (format!("k{}", i), Value::from(1i64))).collect()))],
    }
}

/// Does what the script of a hook in the options says.
fn run(hook: &str, input: &Value, value: &mut Value, call: &Call) -> Result<Option<Value>, Error> {
    let count = CALLS.fetch_add(1, Ordering::SeqCst) + 1;
    let mut script = &call.options["hooks"][hook];
    while *script != Value::Null && !encode(input).contains(script["when"].str()) {
        script = &script["otherwise"];
    }
    if *script == Value::Null {
        return Ok(None);
    }
    let judges = *value == Value::Null;
    if let Some(key) = script.get("record") {
        let mut call_as_it_came = Value::object([("input", input.clone())]);
        if !judges {
            call_as_it_came.set("value", value.clone());
        }
        keep(call, key.str(), &call_as_it_came)?;
    }
    commit(script["fault"].str(), call)?;
    if let Some(text) = script.get("error") {
        return Err(text.str().into());
    }
    let mut answer = Value::Null;
    for field in ["verdict", "reason", "message"] {
        if let Some(text) = script.get(field) {
            answer.set(field, text.clone());
        }
    }
    if judges {
        if hook == "turn.stop" && answer["verdict"] == Value::Null {
            answer.set("verdict", "allow");
        }
        return Ok(Some(answer));
    }
    let was = encode(value);
    for change in script["set"].items() {
        apply(value, change)?;
    }
    for (field, text) in [("input", encode(input)), ("value", was), ("count", count.to_string())] {
        if let Some(pointer) = script.get(field) {
            apply(value, &change(pointer.str(), text))?;
        }
    }
    if let Some(name) = script.get("excess") {
        return Ok(Some(Value::object([("changes", excess(name.str()).into())])));
    }
    match answer["verdict"].str() {
        "deny" => Err(deny(answer["reason"].str())),
        "halt" => Err(halt(answer["reason"].str())),
        _ => Ok(None),
    }
}

/// Stores a value for the tool "recorded".
fn keep(call: &Call, key: &str, value: &Value) -> Result<Value, Error> {
    call.operation("kv.set", Value::object([("key", key.into()), ("value", encode(value).into())]))
}

fn kept(call: &Call, key: &Value) -> Result<String, Error> {
    Ok(call.operation("kv.get", Value::object([("key", key.clone())]))?["value"].str().to_string())
}

fn tool(id: &str) -> Tool {
    Tool::new(id, "", json(r#"{"type": "object"}"#))
}

fn output(text: impl Into<Value>) -> Result<Value, Error> {
    Ok(Value::object([("output", text.into())]))
}

fn echo(args: &Value, call: &Call) -> Result<Value, Error> {
    let mut metadata = json(r#"{"big": 12345678901234567890}"#);
    for field in ["tool", "sessionID", "messageID", "agent", "directory", "worktree"] {
        metadata.set(field, call.tool[field].clone());
    }
    Ok(Value::object([
        ("title", format!("echo of {}", call.tool["callID"].str()).into()),
        ("output", encode(args).into()),
        ("metadata", metadata),
        ("attachments", json(r#"[{"type": "file", "mime": "image/png", "filename": "dot.png", "url": "data:image/png;base64,iVBORw0KGgo="}]"#)),
        ("keepTail", true.into()),
    ]))
}

fn prepare(args: &Value, _: &Call) -> Result<Value, Error> {
    if let Some(text) = args.get("refuse") {
        return Err(text.str().into());
    }
    let request = |pattern: &Value| {
        let mut request = json(r#"{"permission": "conformance", "always": ["*"], "metadata": {"why": "because"}}"#);
        request.set("patterns", vec![pattern.clone()]);
        request
    };
    Ok(args["patterns"].items().iter().map(request).collect::<Vec<Value>>().into())
}

const PROVIDER: &str = "conformance-provider";

fn browse() -> Auth {
    let login = |call: &Call| {
        call.operation("signin.notice", json(r#"{"text": "a notice"}"#))?;
        call.operation("signin.code", json(r#"{"address": "https://conformance.example/device", "code": "AB-CD"}"#))?;
        let back = call.operation("signin.visit", json(r#"{"address": "https://conformance.example/login"}"#))?;
        let mut token = json(r#"{"refresh": "refresh", "expires": 7, "metadata": {"account": "a1"}}"#);
        token.set("access", format!("access {}", back["redirect"].str()));
        Ok(token)
    };
    let refresh = |token: &Value, _: &Call| {
        let mut token = token.clone();
        for field in ["access", "refresh"] {
            token.set(field, format!("{}+", token[field].str()));
        }
        token.set("expires", token["expires"].number().unwrap_or(0.0) as i64 + 1);
        Ok(token)
    };
    let headers = |token: &Value, _: &Call| {
        let account = token["metadata"]["account"].str();
        if account == "bad" {
            return Ok(Value::object([("X-Account", "a\r\nb".into())]));
        }
        Ok(Value::object([("Authorization", format!("Conformance {}", token["access"].str()).into()), ("X-Account", account.into())]))
    };
    Auth::new(PROVIDER, "browse", "Conformance account", login).refresh(refresh).headers(headers)
}

fn plugin() -> Plugin {
    let mut plugin = Plugin::new(NAME, "1.2.3", "");
    for point in POINTS.split_whitespace() {
        plugin = plugin.hook(Hook::at(point), move |input, value, call| run(point, input, value, call));
    }
    plugin
        .hook(Hook::at("chat.system.transform").with("name", "again"), |input, value, call| run("again", input, value, call))
        .tool(tool("echo"), echo)
        .tool(tool("progress"), |args, call| {
            for step in 1..=args["steps"].number().unwrap_or(0.0) as i64 {
                call.progress(&format!("step {}", step), Value::object([("step", step.into())]));
            }
            output("done")
        })
        .tool(tool("ask"), |args, call| {
            let patterns = vec![args["pattern"].clone()];
            let request = [("permission", args["permission"].clone()), ("patterns", patterns.clone().into()), ("always", patterns.into())];
            call.operation("ask", Value::object(request))?;
            output("granted")
        })
        .tool(tool("count"), |args, call| {
            let next = (kept(call, &args["key"])?.parse().unwrap_or(0) + 1).to_string();
            keep(call, args["key"].str(), &Value::Number(next.clone()))?;
            output(next)
        })
        .tool(tool("recorded"), |args, call| output(kept(call, &args["key"])?))
        .tool(tool("nested"), |args, call| {
            let arguments = args.get("args").cloned().unwrap_or_else(|| json("{}"));
            let result = call.operation("tool", Value::object([("tool", args["tool"].clone()), ("args", arguments)]))?;
            output(format!("nested: {}", result["output"].str()))
        })
        .tool(tool("secret"), |args, call| {
            let secret = call.operation("secret", Value::object([("name", args["name"].clone())]))?;
            output(secret["value"].str().len().to_string())
        })
        .tool(tool("fail"), |args, call| {
            commit(args["fault"].str(), call)?;
            Err(args["text"].str().into())
        })
        .tool(tool("big"), |args, _| output("x".repeat(args["bytes"].number().unwrap_or(0.0) as usize)))
        .tool(tool("prepared").with("permission", NAME).with("timeout", 7000i64), echo)
        .prepare(prepare)
        .auth(browse())
        .auth(Auth::new(PROVIDER, "plain", "", |_| Ok(json(r#"{"access": "0 options"}"#))))
        .auth(Auth::new(PROVIDER, "denied", "", |_| Err("the user said no".into())))
        .on_start(|call| {
            let script = &call.options["start"];
            if let Some(key) = script.get("record") {
                let started = Value::object([("options", (*call.options).clone()), ("project", (*call.project).clone())]);
                keep(call, key.str(), &started)?;
            }
            commit(script["fault"].str(), call)?;
            match script.get("error") {
                Some(text) => Err(text.str().into()),
                None => Ok(()),
            }
        })
}

#[cfg(target_arch = "wasm32")]
tenon::module!(plugin);

#[cfg(not(target_arch = "wasm32"))]
fn main() {
    plugin().run()
}
