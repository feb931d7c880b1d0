package conformance_test

import "slices"

// guestModule is a WASM module written by hand: what no compiler for plugins would make. Its answer is at address 0.
type guestModule struct {
	answer string
	body   []byte // of tenon_call, behind what answers the start; leaves an i32
	start  []byte // body of a start function; nil without
	abi    int64
	pages  int64
	noCall bool // without tenon_call
}

// Instructions.
const (
	opUnreachable = 0x00
	opLoop        = 0x03
	opIf          = 0x04
	opEnd         = 0x0b
	opBranch      = 0x0c
	opReturn      = 0x0f
	opCall        = 0x10
	opDrop        = 0x1a
	opLocalGet    = 0x20
	opConst       = 0x41
	opEqual       = 0x46
	noResult      = 0x40
)

// Functions of a module, in the order they are imported and defined.
const (
	fnOutput = iota
	fnLog
	fnHostCall
	fnABI
	fnTenonCall
	fnStart
)

func i32(n int64) []byte { return append([]byte{opConst}, signed(n)...) }

func call(function byte, args ...int64) []byte {
	var out []byte
	for _, a := range args {
		out = append(out, i32(a)...)
	}
	return append(out, opCall, function)
}

// answers is the body of a tenon_call that gives an output and a result.
func answers(pointer, length, result int64) []byte {
	return slices.Concat(call(fnOutput, pointer, length), i32(result))
}

// forever repeats what leaves nothing on the stack.
func forever(body []byte) []byte {
	return slices.Concat([]byte{opLoop, noResult}, body, []byte{opBranch, 0, opEnd, opUnreachable})
}

func (m guestModule) bytes() []byte {
	if m.abi == 0 {
		m.abi = 1 << 16
	}
	pages := max(m.pages, 1)
	types := [][]byte{
		{0x60, 2, 0x7f, 0x7f, 0},                   // output(ptr, len)
		{0x60, 3, 0x7f, 0x7f, 0x7f, 0},             // log(level, ptr, len)
		{0x60, 4, 0x7f, 0x7f, 0x7f, 0x7f, 1, 0x7e}, // host_call(op, len, req, len) → i64
		{0x60, 0, 1, 0x7f},                         // tenon_abi() → i32
		{0x60, 2, 0x7f, 0x7f, 1, 0x7f},             // tenon_call(op, len) → i32
		{0x60, 0, 0},                               // start()
	}
	imports := [][]byte{
		slices.Concat(name("tenon_v1"), name("output"), []byte{0, 0}),
		slices.Concat(name("tenon_v1"), name("log"), []byte{0, 1}),
		slices.Concat(name("tenon_v1"), name("host_call"), []byte{0, 2}),
	}
	// The start of a plugin, operation 1, is answered with "nothing to say".
	started := slices.Concat([]byte{opLocalGet, 0}, i32(1), []byte{opEqual, opIf, noResult}, i32(2), []byte{opReturn, opEnd})
	exports := [][]byte{slices.Concat(name("memory"), []byte{2, 0}), slices.Concat(name("tenon_abi"), []byte{0, fnABI})}
	if !m.noCall {
		exports = append(exports, slices.Concat(name("tenon_call"), []byte{0, fnTenonCall}))
	}
	functions, codes := [][]byte{{3}, {4}}, [][]byte{code(i32(m.abi)), code(slices.Concat(started, m.body))}
	if m.start != nil {
		functions, codes = append(functions, []byte{5}), append(codes, code(m.start))
	}
	out := slices.Concat([]byte("\x00asm\x01\x00\x00\x00"),
		section(1, types...), section(2, imports...), section(3, functions...),
		section(5, append([]byte{0}, unsigned(pages)...)), section(7, exports...))
	if m.start != nil {
		out = append(out, 8, 1, fnStart)
	}
	out = append(out, section(10, codes...)...)
	if m.answer != "" {
		out = append(out, section(11, slices.Concat([]byte{0}, i32(0), []byte{opEnd}, name(m.answer)))...)
	}
	return out
}

func section(id byte, items ...[]byte) []byte {
	content := slices.Concat(unsigned(int64(len(items))), slices.Concat(items...))
	return slices.Concat([]byte{id}, unsigned(int64(len(content))), content)
}

func code(body []byte) []byte {
	whole := slices.Concat([]byte{0}, body, []byte{opEnd}) // no locals
	return append(unsigned(int64(len(whole))), whole...)
}

func name(text string) []byte { return append(unsigned(int64(len(text))), text...) }

// unsigned and signed are the variable-length numbers of the format.
func unsigned(n int64) []byte {
	var out []byte
	for n >= 0x80 {
		out = append(out, byte(n)|0x80)
		n >>= 7
	}
	return append(out, byte(n))
}

func signed(n int64) []byte {
	var out []byte
	for {
		b := byte(n & 0x7f)
		n >>= 7
		if n == 0 && b&0x40 == 0 || n == -1 && b&0x40 != 0 {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}
