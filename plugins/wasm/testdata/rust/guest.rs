//! A guest in Rust, without any crate. At chat.system.transform it adds a line to the system prompt, which tells how often it
//! did so: it counts in the host's key-value store.

// What the host gives a guest. Pointers are into this module's memory.
#[link(wasm_import_module = "tenon_v1")]
extern "C" {
    fn input(ptr: *mut u8);
    fn output(ptr: *const u8, len: usize);
    fn log(level: i32, ptr: *const u8, len: usize);
    fn host_call(op: *const u8, op_len: usize, request: *const u8, request_len: usize) -> i64;
    fn host_read(ptr: *mut u8);
}

const DESCRIPTION: &str = r#"{
    "name": "rust-guest",
    "version": "1.0.0",
    "description": "Adds a line to the system prompt and counts how often",
    "hooks": [{"point": "chat.system.transform", "reads": ["/system"], "writes": ["/system"]}],
    "capabilities": [{"name": "kv", "reason": "to count"}]
}"#;

const DESCRIBE: i32 = 0;
const START: i32 = 1;
const HOOK: i32 = 0x1000;

const OK: i32 = 0;
const ERROR: i32 = 1;
const UNCHANGED: i32 = 2;

#[no_mangle]
pub extern "C" fn tenon_abi() -> i32 {
    1 << 16
}

#[no_mangle]
pub extern "C" fn tenon_call(op: i32, len: usize) -> i32 {
    let mut data = vec![0u8; len];
    unsafe { input(data.as_mut_ptr()) };
    let answer = match op {
        DESCRIBE => Ok(DESCRIPTION.to_string()),
        START => return UNCHANGED,
        HOOK => add_line(&data),
        _ => Err(format!("there is no operation {op}")),
    };
    let (status, text) = match answer {
        Ok(text) => (OK, text),
        Err(text) => (ERROR, text),
    };
    unsafe { output(text.as_ptr(), text.len()) };
    status
}

/// Answers the hook. The value is {"system": ["…", …]}; what is in the list goes back as it came.
fn add_line(request: &[u8]) -> Result<String, String> {
    let list = member(request, "value")
        .and_then(|value| member(value, "system"))
        .and_then(|list| std::str::from_utf8(list).ok())
        .ok_or("the request has no value.system")?;
    let items = list.trim_start_matches('[').trim_end_matches(']').trim();
    let comma = if items.is_empty() { "" } else { "," };
    let line = match count() {
        Ok(n) => format!("Rust was here (call {n})."),
        Err(why) => {
            say(4, &format!("not counted: {why}"));
            "Rust was here.".to_string()
        }
    };
    Ok(format!(r#"{{"changes":[{{"pointer":"/system","value":[{items}{comma}"{line}"]}}]}}"#))
}

/// Adds one to the number in the store and returns it.
fn count() -> Result<u64, String> {
    let answer = ask("kv.get", r#"{"key":"calls"}"#)?;
    let n = 1 + member(answer.as_bytes(), "value")
        .and_then(|raw| std::str::from_utf8(raw).ok())
        .and_then(|text| text.trim_matches('"').parse().ok())
        .unwrap_or(0u64);
    ask("kv.set", &format!(r#"{{"key":"calls","value":"{n}"}}"#))?;
    Ok(n)
}

/// Asks the host for an operation. The upper half of what host_call returns is the status, the lower one the length of the answer.
fn ask(op: &str, request: &str) -> Result<String, String> {
    let result = unsafe { host_call(op.as_ptr(), op.len(), request.as_ptr(), request.len()) };
    let mut answer = vec![0u8; (result & 0xffff_ffff) as usize];
    unsafe { host_read(answer.as_mut_ptr()) };
    let text = String::from_utf8_lossy(&answer).into_owned();
    match result >> 32 {
        0 => Ok(text),
        status => Err(format!("{op}: status {status}: {text}")),
    }
}

fn say(level: i32, text: &str) {
    unsafe { log(level, text.as_ptr(), text.len()) };
}

/// Returns the JSON of a member of the object in data.
fn member<'a>(data: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut i = skip_space(data, 0);
    if data.get(i) != Some(&b'{') {
        return None;
    }
    i = skip_space(data, i + 1);
    while data.get(i) == Some(&b'"') {
        let end = skip_value(data, i);
        let found = data[i + 1..end - 1] == *name.as_bytes();
        i = skip_space(data, skip_space(data, end) + 1); // behind the colon
        let end = skip_value(data, i);
        if found {
            return Some(&data[i..end]);
        }
        i = skip_space(data, skip_space(data, end) + 1); // behind the comma
    }
    None
}

fn skip_space(data: &[u8], mut i: usize) -> usize {
    while i < data.len() && data[i].is_ascii_whitespace() {
        i += 1;
    }
    i
}

/// Returns the index behind the JSON value that starts at i. The host sends valid JSON.
fn skip_value(data: &[u8], mut i: usize) -> usize {
    let mut depth = 0;
    while i < data.len() {
        match data[i] {
            b'"' => {
                i += 1;
                while data[i] != b'"' {
                    i += if data[i] == b'\\' { 2 } else { 1 };
                }
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return i,
            b'}' | b']' => depth -= 1,
            b',' | b':' if depth == 0 => return i,
            _ => {}
        }
        i += 1;
        if depth == 0 && matches!(data[i - 1], b'"' | b'}' | b']') {
            return i;
        }
    }
    i
}
