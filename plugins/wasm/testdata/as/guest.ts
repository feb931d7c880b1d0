// A guest in AssemblyScript. At chat.message it adds a wish to the user's message, which the model gets with the system prompt,
// and counts in the host's key-value store how often.

// What the host gives a guest. Pointers are into this module's memory.
@external("tenon_v1", "input")
declare function input(ptr: usize): void;
@external("tenon_v1", "output")
declare function output(ptr: usize, length: i32): void;
@external("tenon_v1", "log")
declare function log(level: i32, ptr: usize, length: i32): void;
@external("tenon_v1", "host_call")
declare function host_call(op: usize, opLength: i32, request: usize, requestLength: i32): i64;
@external("tenon_v1", "host_read")
declare function host_read(ptr: usize): void;

const DESCRIBE: i32 = 0;
const START: i32 = 1;
const HOOK: i32 = 0x1000;

const OK: i32 = 0;
const ERROR: i32 = 1;
const UNCHANGED: i32 = 2;

const DESCRIPTION: string = `{
  "name": "as-guest",
  "version": "1.0.0",
  "description": "Asks the model to be brief",
  "hooks": [{"point": "chat.message", "reads": ["/message/system"], "writes": ["/message/system"]}],
  "capabilities": [{"name": "kv", "reason": "to count"}]
}`;

// status and answer are those of the last host_call.
let status: i32 = 0;
let answer: string = "";

export function tenon_abi(): i32 {
  return 1 << 16;
}

export function tenon_call(op: i32, length: i32): i32 {
  const data = new ArrayBuffer(length);
  input(changetype<usize>(data));
  if (op == START) return UNCHANGED;
  if (op == DESCRIBE) return answerWith(OK, DESCRIPTION);
  if (op == HOOK) return answerWith(OK, addWish(String.UTF8.decode(data)));
  return answerWith(ERROR, "there is no operation " + op.toString());
}

function answerWith(result: i32, text: string): i32 {
  const bytes = String.UTF8.encode(text);
  output(changetype<usize>(bytes), bytes.byteLength);
  return result;
}

// addWish keeps a wish that is already there.
function addWish(request: string): string {
  if (request.includes('"system":"')) return "{}";
  const n = count();
  const wish = n > 0 ? "Be brief. (" + n.toString() + ")" : "Be brief.";
  return '{"changes":[{"pointer":"/message/system","value":"' + wish + '"}]}';
}

// count adds one to the number in the store and returns it; 0 when the host has no store for us.
function count(): i32 {
  ask("kv.get", '{"key":"calls"}');
  if (status != 0) {
    say(4, "not counted: status " + status.toString() + ": " + answer);
    return 0;
  }
  let n = 1;
  const at = answer.indexOf('"value":"');
  if (at >= 0) n += I32.parseInt(answer.substring(at + 9));
  ask("kv.set", '{"key":"calls","value":"' + n.toString() + '"}');
  return n;
}

function ask(op: string, request: string): void {
  const opBytes = String.UTF8.encode(op);
  const body = String.UTF8.encode(request);
  const result = host_call(changetype<usize>(opBytes), opBytes.byteLength, changetype<usize>(body), body.byteLength);
  const bytes = new ArrayBuffer(<i32>(result & 0xffffffff));
  host_read(changetype<usize>(bytes));
  status = <i32>(result >> 32);
  answer = String.UTF8.decode(bytes);
}

function say(level: i32, text: string): void {
  const bytes = String.UTF8.encode(text);
  log(level, changetype<usize>(bytes), bytes.byteLength);
}

// stop is called by the runtime of the language when it cannot go on. The trap tells the host.
export function stop(message: string | null, file: string | null, line: u32, column: u32): void {
  if (message) say(8, message + " at " + line.toString() + ":" + column.toString());
  unreachable();
}
