package rewrite

// Functions that are added to the rewritten module.
const (
	helperSlow = iota // asks the host and resets the counter
	helperFill        // memory.fill in pieces
	helperCopy        // memory.copy in pieces
	helpers           // number of helpers
)

// helper returns the index of a helper in the new module.
func (w *writer) helper(n int) uint32 { return w.imported + 1 + uint32(len(w.functions)) + uint32(n) }

// weightBytes is the fixed size of a weight in the code, so that it can be written later.
const weightBytes = 3

// check writes
//
//	counter -= weight; if counter < 0 { slow() }
//
// and returns where the weight goes.
func (b *body) check() int {
	b.out = appendU32(append(b.out, opGlobalGet), b.w.counter())
	b.out = append(b.out, opI32Const)
	at := len(b.out)
	b.out = append(b.out, 0x80, 0x80, 0, opI32Sub)
	b.out = b.w.settle(b.out)
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

// settle stores the counter, which is on the stack, and asks the host if it is used up.
func (w *writer) settle(out []byte) []byte {
	out = appendU32(append(out, opGlobalSet), w.counter())
	out = appendU32(append(out, opGlobalGet), w.counter())
	out = append(out, opI32Const, 0, opI32LtS, opIf, blockEmpty)
	out = w.slow(out)
	return append(out, opEnd)
}

func (w *writer) slow(out []byte) []byte { return appendU32(append(out, opCall), w.helper(helperSlow)) }

// helpers writes the code of the helpers.
func (w *writer) helpers() {
	for _, code := range [helpers][]byte{helperSlow: w.slowCode(), helperFill: w.fillCode(), helperCopy: w.copyCode()} {
		w.buf = appendU32(w.buf, uint32(len(code)+2))
		w.buf = append(w.buf, 0) // no locals
		w.buf = append(append(w.buf, code...), opEnd)
	}
}

// slowCode is
//
//	if check() != 0 { unreachable }
//	counter = budget
func (w *writer) slowCode() []byte {
	code := appendU32([]byte{opCall}, w.check())
	code = append(code, opIf, blockEmpty, opUnreachable, opEnd, opI32Const)
	code = appendS64(code, budget)
	return appendU32(append(code, opGlobalSet), w.counter())
}

// Parameters of fill and copy.
const (
	dst = iota
	src // the value, of fill
	length
)

// fillCode is
//
//	for length > chunk { fill(dst, src, chunk); dst += chunk; length -= chunk; slow() }
//	fill(dst, src, length); pay(length)
//
// A trap in the middle leaves the beginning written, which is harmless: the instance is discarded.
func (w *writer) fillCode() []byte {
	if !w.uses[helperFill] {
		return []byte{opUnreachable}
	}
	fill := []byte{opMisc, miscMemoryFill, 0}
	code := []byte{opBlock, blockEmpty, opLoop, blockEmpty}
	code = append(append(code, atMostChunk()...), opBrIf, 1, opLocalGet, dst, opLocalGet, src)
	code = append(append(code, chunkConst()...), fill...)
	code = append(append(code, step(dst, opI32Add)...), step(length, opI32Sub)...)
	code = append(w.slow(code), opBr, 0, opEnd, opEnd, opLocalGet, dst, opLocalGet, src, opLocalGet, length)
	return w.pay(append(code, fill...))
}

// copyCode is
//
//	if length <= chunk || dst+length or src+length is beyond 32 bits { copy(dst, src, length), which traps if it must }
//	else if dst <= src { for length > chunk { copy(dst, src, chunk); dst += chunk; src += chunk; length -= chunk; slow() }; copy the rest }
//	else { for length > chunk { length -= chunk; copy(dst+length, src+length, chunk); slow() }; copy the rest }
func (w *writer) copyCode() []byte {
	if !w.uses[helperCopy] {
		return []byte{opUnreachable}
	}
	move := []byte{opMisc, miscMemoryCopy, 0, 0}
	sum := func(a byte) []byte { return []byte{opLocalGet, a, opLocalGet, length, opI32Add} }
	code := []byte{opBlock, blockEmpty}
	for _, a := range [...]byte{dst, src} {
		code = append(append(code, sum(a)...), opLocalGet, a, opI32LtU, opBrIf, 0)
	}
	code = append(code, opLocalGet, src, opLocalGet, dst, opI32LtU, opIf, blockEmpty)
	// From the end to the beginning.
	code = append(append(code, opLoop, blockEmpty), atMostChunk()...)
	code = append(append(code, opBrIf, 2), step(length, opI32Sub)...)
	code = append(append(code, sum(dst)...), sum(src)...)
	code = append(append(code, chunkConst()...), move...)
	code = append(w.slow(code), opBr, 0, opEnd, opEnd)
	// From the beginning to the end.
	code = append(append(code, opLoop, blockEmpty), atMostChunk()...)
	code = append(code, opBrIf, 1, opLocalGet, dst, opLocalGet, src)
	code = append(append(code, chunkConst()...), move...)
	code = append(append(code, step(dst, opI32Add)...), step(src, opI32Add)...)
	code = append(w.slow(append(code, step(length, opI32Sub)...)), opBr, 0, opEnd, opEnd)
	code = append(code, opLocalGet, dst, opLocalGet, src, opLocalGet, length)
	return w.pay(append(code, move...))
}

func chunkConst() []byte { return appendS64([]byte{opI32Const}, chunk) }

// atMostChunk leaves length <= chunk on the stack.
func atMostChunk() []byte {
	return append(append([]byte{opLocalGet, length}, chunkConst()...), opI32LeU)
}

// step moves a parameter by a chunk.
func step(local, op byte) []byte {
	return append(append([]byte{opLocalGet, local}, chunkConst()...), op, opLocalSet, local)
}

// pay subtracts the cost of moving length bytes from the counter: at 4 GB/s, 64 bytes take about as long as perUnit bytes of code.
func (w *writer) pay(code []byte) []byte {
	code = appendU32(append(code, opGlobalGet), w.counter())
	code = append(code, opLocalGet, length, opI32Const, 6, opI32ShrU, opI32Sub)
	return w.settle(code)
}
