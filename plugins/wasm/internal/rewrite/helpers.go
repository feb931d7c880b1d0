package rewrite

import (
	"fmt"
	"strconv"
	"strings"
)

// Functions that are added to the rewritten module.
const (
	helperSlow = iota // asks the host and resets the counter
	helperFill        // memory.fill in pieces
	helperCopy        // memory.copy in pieces
	helpers           // number of helpers
)

// helper returns the index of a helper in the new module.
func (w *writer) helper(n int) uint32 { return w.imported + 1 + uint32(len(w.functions)) + uint32(n) }

// slowText is the code of helperSlow.
const slowText = `call $check if unreachable end  i32.const budget global.set $counter`

// settleText is the end of code that changes the counter: it stores the counter, which is on the stack, and asks the host if it is used up.
const settleText = ` global.set $counter  global.get $counter i32.const 0 i32.lt_s if call $slow end`

// Parts of the code of helperFill and helperCopy, whose parameters are $dst, $src and $length.
const (
	nextDst = ` local.get $dst i32.const chunk i32.add local.set $dst`
	nextSrc = ` local.get $src i32.const chunk i32.add local.set $src`
	fewer   = ` local.get $length i32.const chunk i32.sub local.set $length`
	isLast  = ` local.get $length i32.const chunk i32.le_u`
	whole   = ` local.get $dst local.get $src local.get $length`
)

// payText subtracts the cost of moving length bytes from the counter: at 4 GB/s, 64 bytes take about as long as perUnit bytes of code.
const payText = ` global.get $counter local.get $length i32.const 6 i32.shr_u i32.sub` + settleText

// fillText is the code of helperFill; src is the value. A trap in the middle leaves the beginning written, which is harmless: the instance is
// discarded.
const fillText = `
	block loop` + isLast + ` br_if 1
		local.get $dst local.get $src i32.const chunk memory.fill` + nextDst + fewer + ` call $slow br 0
	end end` + whole + ` memory.fill` + payText

// copyText is the code of helperCopy. The pieces are copied from the end if dst is above src, because the ranges may overlap. The last copy traps
// if a range is beyond 32 bits.
const copyText = `
	block
		local.get $dst local.get $length i32.add local.get $dst i32.lt_u br_if 0
		local.get $src local.get $length i32.add local.get $src i32.lt_u br_if 0
		local.get $src local.get $dst i32.lt_u if
			loop` + isLast + ` br_if 2` + fewer + `
				local.get $dst local.get $length i32.add  local.get $src local.get $length i32.add  i32.const chunk memory.copy  call $slow br 0
			end
		end
		loop` + isLast + ` br_if 1
			local.get $dst local.get $src i32.const chunk memory.copy` + nextDst + nextSrc + fewer + ` call $slow br 0
		end
	end` + whole + ` memory.copy` + payText

// helpers writes the code of the helpers. An unused one only traps.
func (w *writer) helpers() {
	for n, text := range [helpers]string{helperSlow: slowText, helperFill: fillText, helperCopy: copyText} {
		if n != helperSlow && !w.uses[n] {
			text = "unreachable"
		}
		w.added(text)
	}
}

// guardCode writes the code of the guards: a result for each argument that exceeds its limit, a question to the host, and the call.
func (w *writer) guardCode() {
	for i := range w.guards {
		g := &w.guards[i]
		text := ""
		for _, l := range g.Limits {
			text += fmt.Sprintf("local.get $%d i32.const %d i32.gt_u if i32.const %d return end ", l.Param, int32(l.Max), l.Result)
		}
		if g.Ask {
			text += "call $slow "
		}
		for p := range g.params {
			text += fmt.Sprintf("local.get $%d ", p)
		}
		w.added(text + fmt.Sprintf("call $%d", g.index))
	}
}

// added writes a function without locals.
func (w *writer) added(text string) {
	code := append(w.assemble([]byte{0}, text), opEnd)
	w.buf = append(appendU32(w.buf, uint32(len(code))), code...)
}

// assemble appends instructions in the text format. A word that is not an instruction is a signed number or, after $, an index.
func (w *writer) assemble(out []byte, text string) []byte {
	encoding := mnemonics()
	values := map[string]int64{
		// The import that asks the host follows the imported functions, the counter the globals.
		"budget": budget, "chunk": chunk, "$check": int64(w.imported), "$slow": int64(w.helper(helperSlow)), "$counter": int64(w.globals),
		"$dst": 0, "$src": 1, "$length": 2,
	}
	for word := range strings.FieldsSeq(text) {
		if code, ok := encoding[word]; ok {
			out = append(out, code...)
			continue
		}
		digits, index := strings.CutPrefix(word, "$")
		value, known := values[word]
		if !known {
			value, _ = strconv.ParseInt(digits, 10, 64) // the texts are ours
		}
		if index {
			out = appendU32(out, uint32(value))
		} else {
			out = appendS64(out, value)
		}
	}
	return out
}

// mnemonics returns the encoding of instructions, with their fixed immediates.
func mnemonics() map[string]string {
	return map[string]string{
		"unreachable": "\x00", "block": "\x02\x40", "loop": "\x03\x40", "if": "\x04\x40", "end": "\x0b", "br": "\x0c", "br_if": "\x0d",
		"return": "\x0f", "call": "\x10", "local.get": "\x20", "local.set": "\x21", "global.get": "\x23", "global.set": "\x24",
		"i32.const": "\x41", "i32.lt_s": "\x48", "i32.lt_u": "\x49", "i32.gt_u": "\x4b", "i32.le_u": "\x4d",
		"i32.add": "\x6a", "i32.sub": "\x6b", "i32.shr_u": "\x76", "memory.copy": "\xfc\x0a\x00\x00", "memory.fill": "\xfc\x0b\x00",
	}
}

// weightBytes is the fixed size of a weight in the code, so that it can be written later.
const weightBytes = 3

// check subtracts a weight from the counter, asks the host if it is used up, and returns the position of the weight.
func (b *body) check() int {
	b.out = append(b.out, b.w.weigh...)
	at := len(b.out)
	b.out = append(b.out, 0x80, 0x80, 0)
	b.out = append(b.out, b.w.settle...)
	return at
}

// setWeight writes the weight of a check.
func (b *body) setWeight(at, weight int) {
	weight = min(weight, budget)
	for i := range weightBytes {
		b.out[at+i] = byte(weight>>(7*i)) & 0x7f
		if i < weightBytes-1 {
			b.out[at+i] |= 0x80
		}
	}
}
