//! The library for tenon plugins in Rust: one file, no crates, Rust 1.63 or newer. It speaks the line protocol of
//! https://github.com/tenonhq/tenon/blob/main/docs/process-protocol.md. Add it as `mod tenon;`.
//!
//! A program calls `Plugin::run`. A WASM module (target wasm32-unknown-unknown) has `tenon::module!(plugin);` instead, with a function that
//! returns the plugin. A panic ends the instance of a module, and a module has no clock.
//!
//! Hooks run one after the other in the thread that reads the connection; a hook that waits for the host lets another thread read
//! in the meantime. Every tool call has its own thread. Print nothing on stdout.
#![allow(dead_code)]

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::ops::{Index, IndexMut};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

const VERSION: u32 = 1; // of the protocol
const MAX_MESSAGE: usize = 16 << 20; // bytes of a message; the host ends a plugin that sends more
const MAX_LOGGED: usize = 1 << 20; // bytes of a message in the log, as in Go's library
const MAX_ERROR: usize = 256 << 10; // bytes of an error
const MAX_DEPTH: usize = 512; // of JSON
const METHOD_NOT_FOUND: i64 = -32601;

/// JSON. Numbers keep their text, objects their order.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Number(String),
    String(String),
    Array(Vec<Value>),
    Object(Vec<(String, Value)>),
}

static NULL: Value = Value::Null;

/// Returns the value of JSON in the program's source. If the text is not JSON, it panics with the caller's location.
#[track_caller]
pub fn json(text: &str) -> Value {
    Value::parse(text).expect("JSON in the source")
}

impl Value {
    /// Returns an object.
    pub fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
        Value::Object(members.into_iter().map(|(k, v)| (k.to_string(), v)).collect())
    }

    /// Decodes JSON.
    pub fn parse(text: &str) -> Result<Value, String> {
        let mut p = Parser { text: text.as_bytes(), at: 0 };
        let value = p.value(0)?;
        p.space();
        if p.at < p.text.len() {
            return Err(format!("unexpected data at byte {}", p.at));
        }
        Ok(value)
    }

    /// Returns the member of an object.
    pub fn get(&self, key: &str) -> Option<&Value> {
        match self {
            Value::Object(members) => members.iter().rfind(|(k, _)| k == key).map(|(_, v)| v), // the last one, as other decoders do
            _ => None,
        }
    }

    /// Sets the member of an object. Null becomes an object.
    pub fn set(&mut self, key: &str, value: impl Into<Value>) {
        self[key] = value.into();
    }

    /// Removes the member of an object.
    pub fn remove(&mut self, key: &str) {
        if let Value::Object(members) = self {
            members.retain(|(k, _)| k != key);
        }
    }

    /// Appends to an array. Null becomes an array.
    pub fn push(&mut self, value: impl Into<Value>) {
        if *self == Value::Null {
            *self = Value::Array(Vec::new());
        }
        if let Value::Array(items) = self {
            items.push(value.into());
        }
    }

    /// Returns the text; empty for another value.
    pub fn str(&self) -> &str {
        match self {
            Value::String(s) => s,
            _ => "",
        }
    }

    /// Returns the number; None for another value.
    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Number(n) => n.parse().ok(),
            _ => None,
        }
    }

    /// Returns the truth value; false for another value.
    pub fn bool(&self) -> bool {
        *self == Value::Bool(true)
    }

    /// Returns the elements of an array; none for another value.
    pub fn items(&self) -> &[Value] {
        match self {
            Value::Array(items) => items,
            _ => &[],
        }
    }

    fn encode(&self, out: &mut String) {
        match self {
            Value::Null => out.push_str("null"),
            Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
            Value::Number(n) => out.push_str(n),
            Value::String(s) => encode_text(s, out),
            Value::Array(items) => {
                for (i, item) in items.iter().enumerate() {
                    out.push(if i == 0 { '[' } else { ',' });
                    item.encode(out);
                }
                out.push_str(if items.is_empty() { "[]" } else { "]" });
            }
            Value::Object(members) => {
                for (i, (key, value)) in members.iter().enumerate() {
                    out.push(if i == 0 { '{' } else { ',' });
                    encode_text(key, out);
                    out.push(':');
                    value.encode(out);
                }
                out.push_str(if members.is_empty() { "{}" } else { "}" });
            }
        }
    }
}

fn encode_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = String::new();
        self.encode(&mut out);
        f.write_str(&out)
    }
}

impl Index<&str> for Value {
    type Output = Value;
    fn index(&self, key: &str) -> &Value {
        self.get(key).unwrap_or(&NULL)
    }
}

impl IndexMut<&str> for Value {
    /// Returns the member of an object, which is null if it was missing. Another value becomes an object.
    ///
    /// In the value of a hook, a missing member that becomes null, or an object whose members are all null, is no change: a hook cannot add null.
    fn index_mut(&mut self, key: &str) -> &mut Value {
        if !matches!(self, Value::Object(_)) {
            *self = Value::Object(Vec::new());
        }
        let members = match self {
            Value::Object(members) => members,
            _ => unreachable!(),
        };
        let at = members.iter().rposition(|(k, _)| k == key).unwrap_or_else(|| {
            members.push((key.to_string(), Value::Null));
            members.len() - 1
        });
        &mut members[at].1
    }
}

impl Index<usize> for Value {
    type Output = Value;
    fn index(&self, i: usize) -> &Value {
        self.items().get(i).unwrap_or(&NULL)
    }
}

impl From<&str> for Value {
    fn from(s: &str) -> Value {
        Value::String(s.to_string())
    }
}
impl From<String> for Value {
    fn from(s: String) -> Value {
        Value::String(s)
    }
}
impl From<bool> for Value {
    fn from(b: bool) -> Value {
        Value::Bool(b)
    }
}
impl From<i64> for Value {
    fn from(n: i64) -> Value {
        Value::Number(n.to_string())
    }
}
impl From<f64> for Value {
    fn from(n: f64) -> Value {
        if n.is_finite() {
            Value::Number(n.to_string())
        } else {
            Value::Null
        }
    }
}
impl From<Vec<Value>> for Value {
    fn from(items: Vec<Value>) -> Value {
        Value::Array(items)
    }
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn space(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn take(&mut self, c: u8) -> bool {
        self.space();
        let found = self.text.get(self.at) == Some(&c);
        self.at += found as usize;
        found
    }

    fn want(&mut self, c: u8) -> Result<(), String> {
        if self.take(c) {
            return Ok(());
        }
        Err(format!("want {:?} at byte {}", c as char, self.at))
    }

    fn value(&mut self, depth: usize) -> Result<Value, String> {
        if depth > MAX_DEPTH {
            return Err("nested too deep".to_string());
        }
        self.space();
        match self.text.get(self.at) {
            Some(b'{') => self.members(depth),
            Some(b'[') => self.elements(depth),
            Some(b'"') => Ok(Value::String(self.string()?)),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            _ => self.number(),
        }
    }

    fn members(&mut self, depth: usize) -> Result<Value, String> {
        self.at += 1;
        let mut members = Vec::new();
        if self.take(b'}') {
            return Ok(Value::Object(members));
        }
        loop {
            self.space();
            let key = self.string()?;
            self.want(b':')?;
            members.push((key, self.value(depth + 1)?));
            if !self.take(b',') {
                self.want(b'}')?;
                return Ok(Value::Object(members));
            }
        }
    }

    fn elements(&mut self, depth: usize) -> Result<Value, String> {
        self.at += 1;
        let mut items = Vec::new();
        if self.take(b']') {
            return Ok(Value::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if !self.take(b',') {
                self.want(b']')?;
                return Ok(Value::Array(items));
            }
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, String> {
        if !self.text[self.at..].starts_with(word.as_bytes()) {
            return Err(format!("bad value at byte {}", self.at));
        }
        self.at += word.len();
        Ok(value)
    }

    fn number(&mut self) -> Result<Value, String> {
        let from = self.at;
        while matches!(self.text.get(self.at), Some(b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')) {
            self.at += 1;
        }
        let text = String::from_utf8_lossy(&self.text[from..self.at]).into_owned();
        match text.parse::<f64>() {
            Ok(_) => Ok(Value::Number(text)),
            Err(_) => Err(format!("bad value at byte {}", from)),
        }
    }

    fn string(&mut self) -> Result<String, String> {
        if self.text.get(self.at) != Some(&b'"') {
            return Err(format!("want a text at byte {}", self.at));
        }
        self.at += 1;
        let mut out = Vec::new();
        loop {
            let from = self.at;
            while !matches!(self.text.get(self.at), None | Some(b'"' | b'\\')) {
                self.at += 1;
            }
            out.extend_from_slice(&self.text[from..self.at]);
            match self.text.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(String::from_utf8_lossy(&out).into_owned());
                }
                Some(_) => self.escape(&mut out)?,
                None => return Err("a text has no end".to_string()),
            }
        }
    }

    fn escape(&mut self, out: &mut Vec<u8>) -> Result<(), String> {
        let c = self.text.get(self.at + 1).copied().ok_or("a text has no end")?;
        self.at += 2;
        let plain = match c {
            b'"' | b'\\' | b'/' => c as char,
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let mut code = self.hex()?;
                if (0xd800..0xdc00).contains(&code) && self.text[self.at..].starts_with(b"\\u") {
                    let before = self.at;
                    self.at += 2;
                    let low = self.hex()?;
                    if (0xdc00..0xe000).contains(&low) {
                        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
                    } else {
                        self.at = before;
                    }
                }
                char::from_u32(code).unwrap_or('\u{fffd}')
            }
            _ => return Err(format!("bad escape at byte {}", self.at)),
        };
        out.extend_from_slice(plain.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }

    fn hex(&mut self) -> Result<u32, String> {
        let digits = self.text.get(self.at..self.at + 4).ok_or("a text has no end")?;
        self.at += 4;
        std::str::from_utf8(digits).ok().and_then(|d| u32::from_str_radix(d, 16).ok()).ok_or_else(|| "bad escape".to_string())
    }
}

/// Why a call failed, or was refused.
#[derive(Debug)]
pub enum Error {
    Failed(String),
    Refused { reason: String, halt: bool },
    /// The host answered a request with this status: 1 failed, 2 denied, 3 unknown, 4 limited.
    Host { status: i64, message: String },
    MethodNotFound,
}

impl<T: Into<String>> From<T> for Error {
    fn from(text: T) -> Error {
        Error::Failed(text.into())
    }
}

/// Refuses a call; the model may try another way.
pub fn deny(reason: &str) -> Error {
    Error::Refused { reason: reason.to_string(), halt: false }
}

/// Refuses a call and ends the turn.
pub fn halt(reason: &str) -> Error {
    Error::Refused { reason: reason.to_string(), halt: true }
}

type HookRun = Box<dyn Fn(&Value, &mut Value, &Call) -> Result<Option<Value>, Error> + Send + Sync>;
type ToolRun = Box<dyn Fn(&Value, &Call) -> Result<Value, Error> + Send + Sync>;
type AuthRun = Box<dyn Fn(&Value, &Call) -> Result<Value, Error> + Send + Sync>;
type StartRun = Box<dyn Fn(&Call) -> Result<(), Error> + Send + Sync>;

/// The declaration of a hook, as in plugin.json.
pub struct Hook(Value);

impl Hook {
    pub fn at(point: &str) -> Hook {
        Hook(Value::object([("point", point.into())]))
    }
    /// Fields of the value that the hook receives; "" is the whole value. Default: none.
    pub fn reads(self, fields: &[&str]) -> Hook {
        self.with("reads", fields.iter().map(|f| (*f).into()).collect::<Vec<Value>>())
    }
    /// Fields that the hook may change; "/list/-" permits only to append. Default: none.
    pub fn writes(self, fields: &[&str]) -> Hook {
        self.with("writes", fields.iter().map(|f| (*f).into()).collect::<Vec<Value>>())
    }
    /// Another field of a hook, such as name, priority, onError or timeout.
    pub fn with(mut self, field: &str, value: impl Into<Value>) -> Hook {
        self.0.set(field, value);
        self
    }
}

/// The declaration of a tool, as in plugin.json.
pub struct Tool(Value);

impl Tool {
    pub fn new(id: &str, description: &str, parameters: Value) -> Tool {
        Tool(Value::object([("id", id.into()), ("description", description.into()), ("parameters", parameters)]))
    }
    /// Another field of a tool, such as permission or timeout.
    pub fn with(mut self, field: &str, value: impl Into<Value>) -> Tool {
        self.0.set(field, value);
        self
    }
}

/// A way to sign in to a provider. Its functions get the token, which is null for a login.
pub struct Auth {
    about: Value,
    actions: Vec<(&'static str, AuthRun)>,
}

impl Auth {
    /// Returns a sign-in of a provider: login returns a token, {"access", "refresh", "expires", "metadata"}. The operations signin.notice,
    /// signin.code and signin.visit reach the user.
    pub fn new(provider: &str, id: &str, name: &str, login: impl Fn(&Call) -> Result<Value, Error> + Send + Sync + 'static) -> Auth {
        let about = Value::object([("provider", provider.into()), ("id", id.into()), ("name", name.into())]);
        Auth { about, actions: Vec::new() }.with("login", move |_, call| login(call))
    }

    /// The function that returns a new token in place of one that expires.
    pub fn refresh(mut self, run: impl Fn(&Value, &Call) -> Result<Value, Error> + Send + Sync + 'static) -> Auth {
        self.about.set("refreshes", true);
        self.with("refresh", run)
    }

    /// The function that returns the headers of requests with a token. Without it, access is sent as a bearer token.
    pub fn headers(mut self, run: impl Fn(&Value, &Call) -> Result<Value, Error> + Send + Sync + 'static) -> Auth {
        self.about.set("headers", true);
        self.with("headers", run)
    }

    fn with(mut self, action: &'static str, run: impl Fn(&Value, &Call) -> Result<Value, Error> + Send + Sync + 'static) -> Auth {
        self.actions.push((action, Box::new(run)));
        self
    }
}

/// A plugin. Its description, and so its plugin.json, follows from it: tenon plugin sync-manifest writes it.
pub struct Plugin {
    about: Value,
    hooks: Vec<(Value, HookRun)>,
    tools: Vec<(Value, ToolRun, Option<ToolRun>)>,
    auth: Vec<Auth>,
    start: Option<StartRun>,
    stop: Option<Box<dyn Fn() + Send + Sync>>,
}

impl Plugin {
    pub fn new(name: &str, version: &str, description: &str) -> Plugin {
        let about = Value::object([("name", name.into()), ("version", version.into()), ("description", description.into())]);
        Plugin { about, hooks: Vec::new(), tools: Vec::new(), auth: Vec::new(), start: None, stop: None }
    }

    /// The JSON schema of the options; calls have the options with its defaults.
    pub fn options(mut self, schema: Value) -> Plugin {
        self.about.set("options", schema);
        self
    }

    /// Requests a capability of the host.
    pub fn capability(mut self, name: &str, scope: &[&str], reason: &str) -> Plugin {
        let mut c = Value::object([("name", name.into()), ("reason", reason.into())]);
        if !scope.is_empty() {
            c.set("scope", scope.iter().map(|s| (*s).into()).collect::<Vec<Value>>());
        }
        self.about["capabilities"].push(c);
        self
    }

    /// Adds a hook. It changes the value in place, and may return a verdict such as {"verdict": "deny", "reason": "…"}.
    pub fn hook(mut self, hook: Hook, run: impl Fn(&Value, &mut Value, &Call) -> Result<Option<Value>, Error> + Send + Sync + 'static) -> Plugin {
        self.hooks.push((hook.0, Box::new(run)));
        self
    }

    /// Adds a tool, which returns {"output": "…"}.
    pub fn tool(mut self, tool: Tool, run: impl Fn(&Value, &Call) -> Result<Value, Error> + Send + Sync + 'static) -> Plugin {
        self.tools.push((tool.0, Box::new(run), None));
        self
    }

    /// Lets the last tool list the permissions that a call requires.
    pub fn prepare(mut self, run: impl Fn(&Value, &Call) -> Result<Value, Error> + Send + Sync + 'static) -> Plugin {
        if let Some(last) = self.tools.last_mut() {
            last.0.set("prepares", true);
            last.2 = Some(Box::new(run));
        }
        self
    }

    /// Adds a sign-in to a provider. It needs the capability auth.
    pub fn auth(mut self, method: Auth) -> Plugin {
        self.auth.push(method);
        self
    }

    /// The function that is called before all others.
    pub fn on_start(mut self, run: impl Fn(&Call) -> Result<(), Error> + Send + Sync + 'static) -> Plugin {
        self.start = Some(Box::new(run));
        self
    }

    /// The function that is called at the end.
    pub fn on_stop(mut self, run: impl Fn() + Send + Sync + 'static) -> Plugin {
        self.stop = Some(Box::new(run));
        self
    }

    /// Returns the description: the part of plugin.json that follows from the code.
    pub fn describe(&self) -> Value {
        let mut d = self.about.clone();
        if !self.hooks.is_empty() {
            d.set("hooks", self.hooks.iter().map(|h| h.0.clone()).collect::<Vec<Value>>());
        }
        if !self.tools.is_empty() {
            d.set("tools", self.tools.iter().map(|t| t.0.clone()).collect::<Vec<Value>>());
        }
        if !self.auth.is_empty() {
            d.set("auth", self.auth.iter().map(|a| a.about.clone()).collect::<Vec<Value>>());
        }
        d
    }

    fn server(self, input: Box<dyn Read + Send>, output: Box<dyn Write + Send>) -> Arc<Server> {
        Arc::new(Server {
            plugin: self,
            input: Mutex::new(BufReader::with_capacity(1 << 16, input)),
            output: Mutex::new(output),
            reader: Mutex::new(thread::current().id()),
            state: Mutex::new(State::default()),
            changed: Condvar::new(),
        })
    }

    /// Runs the plugin; it does not return. With the argument --describe the program prints its description and ends.
    pub fn run(self) -> ! {
        if std::env::args().any(|a| a == "--describe") {
            println!("{}", self.describe());
            std::process::exit(0);
        }
        if std::env::var("TENON_PLUGIN").as_deref() != Ok("tenon.v1.Plugin") {
            eprintln!("{} is a plugin of tenon, and tenon starts it. Try: tenon run --plugin . \"a prompt\"", self.about["name"].str());
            eprintln!("--describe prints its contributions.");
            std::process::exit(1);
        }
        std::panic::set_hook(Box::new(|info| eprintln!("{}", info))); // a panic is the error of one call
        let (input, output) = connection();
        let server = self.server(input, output);
        println!("1|{}|stdio||jsonrpc|", VERSION);
        let _ = std::io::stdout().flush();
        server.read();
        loop {
            thread::park(); // another thread reads, and ends the process
        }
    }
}

#[cfg(unix)]
fn connection() -> (Box<dyn Read + Send>, Box<dyn Write + Send>) {
    use std::os::unix::io::FromRawFd;
    extern "C" {
        fn fcntl(fd: i32, command: i32, argument: i32) -> i32;
    }
    const F_SETFD: i32 = 2;
    const FD_CLOEXEC: i32 = 1;
    if std::env::var("TENON_LINES").as_deref() == Ok("stdio") {
        return (Box::new(std::io::stdin()), Box::new(std::io::stdout()));
    }
    // The host opened descriptor 3 for this process; nothing else in it uses the number.
    let file = unsafe {
        fcntl(3, F_SETFD, FD_CLOEXEC);
        std::fs::File::from_raw_fd(3)
    };
    let again = file.try_clone().expect("file descriptor 3");
    (Box::new(file), Box::new(again))
}

#[cfg(not(unix))]
fn connection() -> (Box<dyn Read + Send>, Box<dyn Write + Send>) {
    (Box::new(std::io::stdin()), Box::new(std::io::stdout()))
}

#[derive(Default)]
struct State {
    options: Arc<Value>,
    project: Arc<Value>,
    hooks: Arc<Vec<usize>>, // positions in the plugin, by the numbers of the host
    tools: Arc<Vec<usize>>,
    started: bool,
    last: u64,
    waiting: HashMap<u64, Option<Value>>, // requests to the host
    canceled: HashMap<u64, bool>,         // calls that run
}

impl Default for Value {
    fn default() -> Value {
        Value::Null
    }
}

struct Server {
    plugin: Plugin,
    input: Mutex<BufReader<Box<dyn Read + Send>>>,
    output: Mutex<Box<dyn Write + Send>>,
    reader: Mutex<ThreadId>,
    state: Mutex<State>,
    changed: Condvar,
}

/// A call of the host. Its methods send requests to the host.
pub struct Call {
    server: Arc<Server>,
    id: u64,
    token: String,
    deadline: Option<Instant>,
    /// The user's options, with the defaults of their schema.
    pub options: Arc<Value>,
    /// The project: ID, Directory, Worktree.
    pub project: Arc<Value>,
    /// In a tool call: tool, callID, sessionID, messageID, agent, args, directory, worktree.
    pub tool: Value,
}

impl Call {
    /// Reports whether the host no longer waits.
    pub fn canceled(&self) -> bool {
        self.deadline.map_or(false, |d| Instant::now() >= d) || self.server.state.lock().unwrap().canceled.get(&self.id) == Some(&true)
    }

    /// Waits until the host no longer waits.
    pub fn wait(&self) {
        self.server.hand_over();
        while !self.canceled() {
            let state = self.server.state.lock().unwrap();
            let _ = self.server.changed.wait_timeout(state, Duration::from_millis(20)).unwrap();
        }
    }

    /// Shows the user the progress of a tool call.
    pub fn progress(&self, title: &str, metadata: Value) {
        let id = Value::Number(self.id.to_string());
        self.server.notify("progress", Value::object([("id", id), ("title", title.into()), ("metadata", metadata)]));
    }

    /// Writes to the log of the host; level is -4 (debug), 0, 4 (warning) or 8 (error).
    pub fn log(&self, level: i64, message: &str) {
        self.server.notify("log", Value::object([("level", level.into()), ("message", cut(message, MAX_LOGGED).into())]));
    }

    /// Uses an ability of the host by the name of its operation; see docs/abilities.md of tenon.
    pub fn operation(&self, name: &str, request: Value) -> Result<Value, Error> {
        let mut params = Value::object([("name", name.into()), ("request", request)]);
        if !self.token.is_empty() {
            params.set("token", self.token.as_str());
        }
        let answer = self.server.request("operation", params);
        match answer.get("error") {
            None => Ok(answer["result"].clone()),
            Some(e) => {
                let reason = e["message"].str();
                let reason = reason.strip_prefix(&format!("{}: ", name)).unwrap_or(reason); // the host names the operation, too
                let message = format!("{}: {}", name, reason);
                Err(Error::Host { status: e["code"].number().unwrap_or(3.0) as i64, message })
            }
        }
    }

    /// Asks for permission; the error is a refusal if it is not granted.
    pub fn ask(&self, permission: &str, patterns: &[&str]) -> Result<(), Error> {
        let patterns: Vec<Value> = patterns.iter().map(|p| (*p).into()).collect();
        match self.operation("ask", Value::object([("permission", permission.into()), ("patterns", patterns.into())])) {
            Ok(_) => Ok(()),
            Err(Error::Host { status: 1, message }) => Err(deny(&message)),
            Err(e) => Err(e),
        }
    }
}

impl Server {
    /// Lets another thread read while this one waits.
    #[cfg(not(target_arch = "wasm32"))]
    fn hand_over(self: &Arc<Server>) {
        let mut reader = self.reader.lock().unwrap();
        if *reader == thread::current().id() {
            let server = self.clone();
            *reader = thread::spawn(move || server.read()).thread().id();
        }
    }

    fn read(self: &Arc<Server>) {
        let me = thread::current().id();
        let mut line = Vec::new();
        loop {
            line.clear();
            let got = self.input.lock().unwrap().read_until(b'\n', &mut line);
            if !matches!(got, Ok(n) if n > 0 && line.last() == Some(&b'\n')) {
                self.end();
            }
            if line.len() == 1 {
                continue;
            }
            let m = match Value::parse(&String::from_utf8_lossy(&line)) {
                Ok(m) => m,
                Err(e) => {
                    eprintln!("bad message of the host: {}", e);
                    std::process::exit(1);
                }
            };
            match m["method"].str() {
                "hook" => {
                    self.call(&m);
                    if *self.reader.lock().unwrap() != me {
                        return;
                    }
                }
                "" | "cancel" => self.note(m),
                _ if m.get("id").is_some() => {
                    let server = self.clone();
                    thread::spawn(move || server.call(&m));
                }
                _ => {}
            }
        }
    }

    /// Takes an answer of the host, or a cancellation.
    fn note(&self, m: Value) {
        let mut state = self.state.lock().unwrap();
        if m.get("method").is_none() {
            if let Some(slot) = state.waiting.get_mut(&id_of(&m["id"])) {
                *slot = Some(m);
            }
        } else if let Some(canceled) = state.canceled.get_mut(&id_of(&m["params"]["id"])) {
            *canceled = true;
        }
        self.changed.notify_all();
    }

    fn end(&self) -> ! {
        thread::spawn(|| {
            thread::sleep(Duration::from_secs(2));
            std::process::exit(0);
        });
        self.stop();
        std::process::exit(0)
    }

    fn stop(&self) {
        let started = std::mem::replace(&mut self.state.lock().unwrap().started, false);
        if let (true, Some(stop)) = (started, &self.plugin.stop) {
            stop();
        }
    }

    fn write(&self, mut line: String) {
        line.push('\n');
        let _ = self.output.lock().unwrap().write_all(line.as_bytes()); // fails when the host is gone, which read sees
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn notify(&self, method: &str, params: Value) {
        let line = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{}\",\"params\":{}}}", method, params);
        if line.len() > MAX_MESSAGE {
            let message = too_long(method, line.len());
            return self.notify("log", Value::object([("level", 4i64.into()), ("message", message.into())]));
        }
        self.write(line);
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn request(self: &Arc<Server>, method: &str, params: Value) -> Value {
        self.hand_over();
        let id = {
            let mut state = self.state.lock().unwrap();
            state.last += 1;
            let id = state.last;
            state.waiting.insert(id, None);
            id
        };
        let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"{}\",\"params\":{}}}", id, method, params);
        if line.len() > MAX_MESSAGE {
            self.state.lock().unwrap().waiting.remove(&id);
            let message = too_long(method, line.len());
            return Value::object([("error", Value::object([("code", 4i64.into()), ("message", message.into())]))]);
        }
        self.write(line);
        let mut state = self.state.lock().unwrap();
        loop {
            if let Some(Some(_)) = state.waiting.get(&id) {
                return state.waiting.remove(&id).flatten().unwrap_or_default();
            }
            state = self.changed.wait(state).unwrap();
        }
    }

    fn call(self: &Arc<Server>, m: &Value) {
        let (id, params) = (id_of(&m["id"]), &m["params"]);
        let (options, project) = {
            let mut state = self.state.lock().unwrap();
            state.canceled.insert(id, false);
            (state.options.clone(), state.project.clone())
        };
        let timeout = params["timeout_ms"].number().filter(|t| *t > 0.0);
        let call = Call {
            server: self.clone(),
            id,
            token: params["token"].str().to_string(),
            deadline: timeout.map(|t| Instant::now() + Duration::from_millis(t as u64)),
            options,
            project,
            tool: params["call"].clone(),
        };
        let result = catch_unwind(AssertUnwindSafe(|| self.run(m["method"].str(), params, &call))).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()));
            Err(Error::Failed(format!("panic: {}", text.unwrap_or_default())))
        });
        self.state.lock().unwrap().canceled.remove(&id);
        let line = match result {
            Ok(value) => format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{}}}", id, value),
            Err(e) => problem(id, e),
        };
        if line.len() > MAX_MESSAGE {
            self.write(problem(id, too_long("answer", line.len()).into()));
            return;
        }
        self.write(line);
    }

    fn run(self: &Arc<Server>, method: &str, params: &Value, call: &Call) -> Result<Value, Error> {
        match method {
            "describe" => Ok(self.plugin.describe()),
            "start" => self.start(&params["request"], call),
            "hook" => self.hook(params, call),
            "prepare" | "tool" => {
                let tools = self.state.lock().unwrap().tools.clone();
                let (_, run, prepare) = tools.get(id_of(&params["tool"]) as usize).map(|i| &self.plugin.tools[*i]).ok_or("no such tool")?;
                match (method, prepare) {
                    ("tool", _) => run(&call.tool["args"], call),
                    (_, Some(prepare)) => Ok(Value::object([("requests", prepare(&call.tool["args"], call)?)])),
                    _ => Err(Error::MethodNotFound),
                }
            }
            "auth" => self.auth(&params["request"], call),
            "stop" => {
                self.stop();
                Ok(Value::Null)
            }
            _ => Err(Error::MethodNotFound),
        }
    }

    /// Calls a sign-in method.
    fn auth(&self, request: &Value, call: &Call) -> Result<Value, Error> {
        let (provider, id, action) = (request["provider"].str(), request["method"].str(), request["action"].str());
        let method = self.plugin.auth.iter().find(|a| a.about["provider"].str() == provider && a.about["id"].str() == id);
        let run = method.and_then(|a| a.actions.iter().find(|(name, _)| *name == action));
        let (_, run) = run.ok_or_else(|| format!("the plugin has no {} of the sign-in method {}/{}", action, provider, id))?;
        let field = if action == "headers" { action } else { "token" };
        Ok(Value::object([(field, run(&request["token"], call)?)]))
    }

    fn start(self: &Arc<Server>, request: &Value, call: &Call) -> Result<Value, Error> {
        let mut options = Value::Object(Vec::new());
        if let Value::Object(properties) = &self.plugin.about["options"]["properties"] {
            for (name, property) in properties {
                if let Some(default) = property.get("default") {
                    options.set(name, default.clone());
                }
            }
        }
        if let Value::Object(given) = &request["options"] {
            for (name, value) in given {
                options.set(name, value.clone());
            }
        }
        let mut hooks = Vec::new();
        for h in request["hooks"].items() {
            let (point, name) = (canonical(h["point"].str()), canonical(h["name"].str()));
            let found = self.plugin.hooks.iter().position(|(own, _)| {
                let at = canonical(own["point"].str());
                at == point && own.get("name").map_or(at, |n| n.str()) == name
            });
            hooks.push(found.ok_or_else(|| format!("the manifest names the hook {} at {}, which the plugin does not have; tenon plugin sync-manifest updates plugin.json", name, point))?);
        }
        let mut tools = Vec::new();
        for id in request["tools"].items() {
            let found = self.plugin.tools.iter().position(|(own, _, _)| own["id"] == *id);
            tools.push(found.ok_or_else(|| format!("the manifest names the tool {}, which the plugin does not have; tenon plugin sync-manifest updates plugin.json", id.str()))?);
        }
        let (options, project) = (Arc::new(options), Arc::new(request["project"].clone()));
        {
            let mut state = self.state.lock().unwrap();
            state.options = options.clone();
            state.project = project.clone();
            state.hooks = Arc::new(hooks);
            state.tools = Arc::new(tools);
            state.started = true;
        }
        if let Some(start) = &self.plugin.start {
            start(&Call { server: self.clone(), id: call.id, token: String::new(), deadline: call.deadline, options, project, tool: Value::Null })?;
        }
        Ok(Value::Null)
    }

    fn hook(&self, params: &Value, call: &Call) -> Result<Value, Error> {
        let hooks = self.state.lock().unwrap().hooks.clone();
        let (_, run) = hooks.get(id_of(&params["hook"]) as usize).map(|i| &self.plugin.hooks[*i]).ok_or("no such hook")?;
        let request = &params["request"];
        let before = &request["value"];
        let mut value = before.clone();
        let answer = match run(&request["input"], &mut value, call) {
            Ok(answer) => answer,
            Err(Error::Refused { reason, halt }) => {
                return Ok(Value::object([("verdict", if halt { "halt" } else { "deny" }.into()), ("reason", reason.into())]));
            }
            Err(e) => return Err(e),
        };
        let mut changes = Vec::new();
        diff(before, &value, &mut String::new(), &mut changes);
        let mut out = answer.unwrap_or_default();
        if !changes.is_empty() {
            out.set("changes", changes);
        }
        let known = ["verdict", "reason", "message", "changes"].iter().any(|k| out.get(k).is_some());
        match &out {
            Value::Object(members) if !known && !members.is_empty() => {
                let text: String = out.to_string().chars().take(80).collect();
                Err(format!("a hook changes its value in place and returns None or a verdict; it returned {}", text).into())
            }
            _ => Ok(out),
        }
    }
}

/// A plugin as a WASM module: https://github.com/tenonhq/tenon/blob/main/docs/wasm-abi.md.
#[cfg(target_arch = "wasm32")]
pub mod wasm {
    use super::*;

    // Pointers are into the memory of the module.
    #[link(wasm_import_module = "tenon_v1")]
    extern "C" {
        fn input(to: *mut u8);
        fn output(text: *const u8, length: usize);
        fn log(level: i32, text: *const u8, length: usize);
        fn host_call(name: *const u8, name_length: usize, request: *const u8, request_length: usize) -> i64;
        fn host_read(to: *mut u8);
    }

    // Results of a call.
    const ANSWERED: i32 = 0;
    const FAILED: i32 = 1;
    const EMPTY: i32 = 2;

    thread_local! {
        static SERVER: std::cell::RefCell<Option<Arc<Server>>> = std::cell::RefCell::new(None);
    }

    /// Answers one call of the host.
    pub fn call(plugin: fn() -> Plugin, op: i32, length: usize) -> i32 {
        let server = SERVER.with(|s| {
            let open = || {
                std::panic::set_hook(Box::new(|info| say(8, &info.to_string())));
                plugin().server(Box::new(std::io::empty()), Box::new(std::io::sink()))
            };
            s.borrow_mut().get_or_insert_with(open).clone()
        });
        let mut data = vec![0; length];
        unsafe { input(data.as_mut_ptr()) };
        let request = Value::parse(&String::from_utf8_lossy(&data)).unwrap_or_default();
        let n = Value::from(i64::from(op & 0xfff));
        let (method, params) = match op {
            0 => ("describe", Value::Null),
            1 => ("start", Value::object([("request", request)])),
            0x1000..=0x1fff => ("hook", Value::object([("hook", n), ("request", request)])),
            0x2000..=0x2fff => ("tool", Value::object([("tool", n), ("call", request)])),
            0x3000..=0x3fff => ("prepare", Value::object([("tool", n), ("call", request)])),
            0x4000 => ("auth", Value::object([("request", request)])),
            _ => ("", Value::Null),
        };
        let (options, project) = {
            let state = server.state.lock().unwrap();
            (state.options.clone(), state.project.clone())
        };
        let call = Call { server: server.clone(), id: 0, token: String::new(), deadline: None, options, project, tool: params["call"].clone() };
        let (status, text) = match server.run(method, &params, &call) {
            Ok(Value::Null) => return EMPTY,
            Ok(answer) => (ANSWERED, answer.to_string()),
            Err(Error::Failed(text)) | Err(Error::Refused { reason: text, .. }) | Err(Error::Host { message: text, .. }) => (FAILED, text),
            Err(Error::MethodNotFound) => (FAILED, format!("operation {:#x} not found", op)),
        };
        unsafe { output(text.as_ptr(), text.len()) };
        status
    }

    fn say(level: i32, text: &str) {
        unsafe { log(level, text.as_ptr(), text.len()) };
    }

    /// Requests an operation, and returns the answer in the form of the line protocol.
    fn ask(name: &str, request: &Value) -> Value {
        let request = request.to_string();
        let result = unsafe { host_call(name.as_ptr(), name.len(), request.as_ptr(), request.len()) };
        let mut answer = vec![0; (result & 0xffff_ffff) as usize];
        unsafe { host_read(answer.as_mut_ptr()) };
        let text = String::from_utf8_lossy(&answer);
        match result >> 32 {
            0 => Value::object([("result", Value::parse(&text).unwrap_or_default())]),
            status => Value::object([("error", Value::object([("code", status.into()), ("message", text.into_owned().into())]))]),
        }
    }

    impl Server {
        pub(super) fn hand_over(&self) {} // the host calls a module again only when the call has returned

        pub(super) fn notify(&self, method: &str, params: Value) {
            if method == "log" {
                say(params["level"].number().unwrap_or(0.0) as i32, params["message"].str());
            } else {
                ask(method, &params); // fails outside of a tool call, where nothing can be shown
            }
        }

        pub(super) fn request(&self, _method: &str, params: Value) -> Value {
            ask(params["name"].str(), &params["request"])
        }
    }
}

/// Exports a plugin from a WASM module: `tenon::module!(plugin);` with a function that returns the plugin.
#[cfg(target_arch = "wasm32")]
macro_rules! module {
    ($plugin:path) => {
        #[no_mangle]
        pub extern "C" fn tenon_abi() -> i32 {
            1 << 16 | 1
        }

        #[no_mangle]
        pub extern "C" fn tenon_call(op: i32, length: usize) -> i32 {
            $crate::tenon::wasm::call($plugin, op, length)
        }
    };
}

#[cfg(target_arch = "wasm32")]
pub(crate) use module;

fn id_of(v: &Value) -> u64 {
    match v {
        Value::Number(n) => n.parse().unwrap_or(0),
        _ => 0,
    }
}

fn canonical(point: &str) -> &str {
    point.strip_prefix("experimental.").unwrap_or(point)
}

/// Returns the beginning of a text.
fn cut(text: &str, mut max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    while !text.is_char_boundary(max) {
        max -= 1;
    }
    &text[..max]
}

fn too_long(what: &str, length: usize) -> String {
    format!("the {} has {} bytes, at most {} MiB are passed on", what, length, MAX_MESSAGE >> 20)
}

fn problem(id: u64, e: Error) -> String {
    let (code, message, data) = match e {
        Error::Failed(text) => (1, text, None),
        Error::Host { message, .. } => (1, message, None),
        Error::MethodNotFound => (METHOD_NOT_FOUND, "method not found".to_string(), None),
        Error::Refused { reason, halt } => (1, reason, Some(Value::object([("refused", true.into()), ("halt", halt.into())]))),
    };
    let mut error = Value::object([("code", code.into()), ("message", cut(&message, MAX_ERROR).into())]);
    if let Some(data) = data {
        error.set("data", data);
    }
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"error\":{}}}", id, error)
}

/// Adds the changes that turn before into after. Elements after the last are appended with "-".
fn diff(before: &Value, after: &Value, pointer: &mut String, changes: &mut Vec<Value>) {
    if before == after {
        return;
    }
    let length = pointer.len();
    match (before, after) {
        (Value::Object(old), Value::Object(new)) if ["id", "type", "role"].iter().all(|k| before.get(k).map_or(true, |v| after.get(k) == Some(v))) => {
            for (key, _) in old.iter().filter(|(k, _)| after.get(k).is_none()) {
                changes.push(Value::object([("pointer", format!("{}/{}", pointer, escape(key)).into()), ("remove", true.into())]));
            }
            for (key, value) in new {
                pointer.push('/');
                pointer.push_str(&escape(key));
                match before.get(key) {
                    Some(was) => diff(was, value, pointer, changes),
                    None if only_nulls(value) => {} // index_mut adds them
                    None => changes.push(set(pointer, value)),
                }
                pointer.truncate(length);
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (i, (was, value)) in old.iter().zip(new).enumerate() {
                let _ = write!(pointer, "/{}", i);
                diff(was, value, pointer, changes);
                pointer.truncate(length);
            }
        }
        (Value::Array(old), Value::Array(new)) if new.starts_with(old) => {
            changes.extend(new[old.len()..].iter().map(|value| set(&format!("{}/-", pointer), value)));
        }
        (Value::Array(old), Value::Array(new)) if old.starts_with(new) => {
            for i in (new.len()..old.len()).rev() {
                changes.push(Value::object([("pointer", format!("{}/{}", pointer, i).into()), ("remove", true.into())]));
            }
        }
        _ => changes.push(set(pointer, after)),
    }
}

fn only_nulls(value: &Value) -> bool {
    match value {
        Value::Object(members) => !members.is_empty() && members.iter().all(|(_, v)| only_nulls(v)),
        _ => *value == Value::Null,
    }
}

fn set(pointer: &str, value: &Value) -> Value {
    Value::object([("pointer", pointer.into()), ("value", value.clone())])
}

fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(before: &str, after: &str) -> String {
        let mut out = Vec::new();
        diff(&json(before), &json(after), &mut String::new(), &mut out);
        Value::Array(out).to_string()
    }

    #[test]
    fn json_round_trip() {
        for text in [r#"{"a":[1,-2.5e3,true,null,""],"b":{"c":"\u0001\"\\\n"},"d":[],"e":{}}"#, "12345678901234567890", r#""東京 🦊""#] {
            assert_eq!(json(text).to_string(), text);
        }
        assert_eq!(json(r#""\ud83e\udd8a\/\ud800x""#).str(), "🦊/\u{fffd}x");
        assert_eq!(json(r#"{"a":1,"a":2}"#)["a"].number(), Some(2.0));
        for bad in ["", "{", "[1,]", "{\"a\"}", "\"", "\"\\x\"", "nul", "1 2", "--1", "\"\\u12\"", &"[".repeat(5000)] {
            assert!(Value::parse(bad).is_err(), "{}", bad);
        }
    }

    #[test]
    fn bad_json_names_its_caller() {
        let (send, receive) = std::sync::mpsc::sync_channel(9);
        std::panic::set_hook(Box::new(move |info| send.send(info.location().unwrap().line()).unwrap()));
        let line = line!() + 1;
        assert!(std::panic::catch_unwind(|| json("{")).is_err());
        let _ = std::panic::take_hook();
        assert_eq!(receive.try_iter().last(), Some(line));
    }

    #[test]
    fn diffs() {
        assert_eq!(changes("{\"a\":1}", "{\"a\":1}"), "[]");
        assert_eq!(changes(r#"{"a":1,"b":2}"#, r#"{"a":3,"c/d":4}"#), r#"[{"pointer":"/b","remove":true},{"pointer":"/a","value":3},{"pointer":"/c~1d","value":4}]"#);
        assert_eq!(changes("{}", r#"{"l":null,"o":{"stop":null,"p":{"q":null}}}"#), "[]");
        assert_eq!(changes("{}", r#"{"o":{}}"#), r#"[{"pointer":"/o","value":{}}]"#);
        assert_eq!(changes(r#"{"l":1}"#, r#"{"l":null}"#), r#"[{"pointer":"/l","value":null}]"#);
        assert_eq!(changes("{\"l\":[1]}", "{\"l\":[1,2]}"), r#"[{"pointer":"/l/-","value":2}]"#);
        assert_eq!(changes("{\"l\":[1,2,3]}", "{\"l\":[1]}"), r#"[{"pointer":"/l/2","remove":true},{"pointer":"/l/1","remove":true}]"#);
        assert_eq!(changes("{\"l\":[1,2]}", "{\"l\":[0,1,2]}"), r#"[{"pointer":"/l","value":[0,1,2]}]"#);
        assert_eq!(changes(r#"{"id":"a","t":1}"#, r#"{"id":"b","t":1}"#), r#"[{"pointer":"","value":{"id":"b","t":1}}]"#);
    }
}
