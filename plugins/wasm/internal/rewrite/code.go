package rewrite

// codeSection writes the functions with their checks, followed by the helpers.
func (w *writer) codeSection(r *reader) {
	n := r.count("functions", maxFunctions)
	if n != len(w.functions) {
		r.fail("%d functions are declared, %d have code", len(w.functions), n)
		return
	}
	w.buf = appendU32(w.buf, uint32(n+helpers+len(w.guards)))
	if len(r.data) > maxCode {
		r.fail("%d bytes of code, at most %d are allowed", len(r.data), maxCode)
		return
	}
	w.weigh = w.assemble(nil, "global.get $counter i32.const")
	w.settle = w.assemble(nil, "i32.sub"+settleText)
	var b body
	total := int64(0)
	for range n {
		size := r.u32()
		if size > maxBody {
			r.fail("a function of %d bytes, at most %d are allowed", size, maxBody)
		}
		b.reset(w, r.part(size))
		b.rewrite()
		if b.r.err != nil {
			r.err = b.r.err
			return
		}
		if total += work(b.entered, b.loops, b.locals); total > maxWork {
			r.fail("up to here the functions have so many blocks, loops and variables that compiling them takes too long; the last one %d, %d and %d",
				b.entered, b.loops, b.locals)
			return
		}
		w.buf = appendU32(w.buf, uint32(len(b.out)))
		w.buf = append(w.buf, b.out...)
	}
	w.helpers()
	w.guardCode()
}

// body rewrites one function.
type body struct {
	w   *writer
	r   *reader
	out []byte

	blocks  []block // open blocks
	entered int     // number of blocks so far
	loops   int     // number of loops so far
	inLoops int     // number of open loops
	locals  int
	extra   int  // units of instructions that count as more than their bytes, such as calls
	leaf    bool // the function has no calls and no loops
}

// block is an open block. For a loop, and for the function itself, weight is the position of its weight in out; otherwise it is 0.
type block struct {
	op     byte
	weight int // in out
	start  int // position in the original code
	extra  int // of the code before it
}

func (b *body) reset(w *writer, r *reader) {
	*b = body{w: w, r: r, out: b.out[:0], blocks: b.blocks[:0], leaf: true}
}

func (b *body) rewrite() {
	r := b.r
	b.out = copied(b.out, r, b.declarations)
	entry := len(b.out)
	b.open(block{op: opBlock, weight: b.check(), start: r.pos})
	code := len(b.out)
	for r.err == nil && len(b.blocks) > 0 {
		b.instruction()
	}
	r.done("a function")
	// A short function without calls costs its caller at most a unit.
	if b.leaf && len(r.data) <= leafBytes {
		b.out = append(b.out[:entry], b.out[code:]...)
	}
}

// declarations skips the locals.
func (b *body) declarations() {
	r := b.r
	total := uint64(0)
	for range r.count("groups of locals", maxLocals) {
		total += uint64(r.u32())
		r.valueType()
	}
	if total > maxLocals {
		r.fail("a function has %d local variables, at most %d are allowed", total, maxLocals)
	}
	b.locals = int(total)
}

func (b *body) open(k block) {
	b.entered++
	b.blocks = append(b.blocks, k)
	switch {
	case len(b.blocks) > maxDepth:
		b.r.fail("blocks are nested more than %d deep", maxDepth)
	case b.inLoops > maxLoopDepth:
		b.r.fail("loops are nested more than %d deep", maxLoopDepth)
	}
}

// instruction copies plain instructions and the instruction after them, with the code that must precede it.
func (b *body) instruction() {
	r := b.r
	first := r.pos
	start := first
	op := r.byte()
	for f := &opForms[op]; f.plain; f = &opForms[op] {
		b.w.skip(r, f.immediates)
		if r.err != nil {
			return
		}
		start = r.pos
		op = r.byte()
	}
	b.out = append(b.out, r.data[first:start]...)
	switch {
	case op == opBlock || op == opIf || op == opLoop:
		b.begin(op)
	case op == opElse:
		if b.blocks[len(b.blocks)-1].op != opIf {
			r.fail("else without if")
		}
		b.blocks[len(b.blocks)-1].op = opElse
		b.out = append(b.out, op)
	case op == opEnd:
		b.end()
	case op == opMisc:
		b.misc()
	case op == opVector:
		b.vector()
	case !opForms[op].known:
		r.fail("instruction %#x is not supported", op)
	case opForms[op].immediates == "f":
		b.costs(opForms[op].units)
		b.out = b.w.function(append(b.out, op), r)
	default:
		b.copy(start, &opForms[op])
	}
}

// copy copies the instruction that begins at start, and whose immediates follow.
func (b *body) copy(start int, f *form) {
	b.costs(f.units)
	b.w.skip(b.r, f.immediates)
	if b.r.err == nil {
		b.out = append(b.out, b.r.data[start:b.r.pos]...)
	}
}

// begin opens a block.
func (b *body) begin(op byte) {
	r := b.r
	start := r.pos - 1
	b.out = append(b.out, op)
	if t := r.s33(); t >= 0 {
		if t >= int64(b.w.types) {
			r.fail("unknown type %d", t)
		}
		b.out = appendS64(b.out, t)
	} else {
		t := byte(t & 0x7f)
		if t != blockEmpty && !isValueType(t) || r.pos != start+2 {
			r.fail("invalid block type %#x", t)
		}
		b.out = append(b.out, t)
	}
	k := block{op: op, start: start, extra: b.extra}
	if op == opLoop {
		b.leaf = false
		b.loops++
		b.inLoops++
		k.weight = b.check()
	}
	b.open(k)
}

// end closes a block.
func (b *body) end() {
	k := b.blocks[len(b.blocks)-1]
	b.blocks = b.blocks[:len(b.blocks)-1]
	if k.op == opLoop {
		b.inLoops--
	}
	b.out = append(b.out, opEnd)
	if k.weight > 0 {
		b.setWeight(k.weight, 1+(b.r.pos-k.start)/perUnit+b.extra-k.extra)
	}
}

// costs adds units to those of the code's bytes.
func (b *body) costs(units int) {
	b.leaf = b.leaf && units == 0
	b.extra += units
}

// misc copies an instruction after opMisc.
func (b *body) misc() {
	r := b.r
	sub := r.u32()
	switch sub {
	case miscMemoryFill:
		b.w.skip(r, "0")
		b.bulk(helperFill)
		return
	case miscMemoryCopy:
		b.w.skip(r, "00")
		b.bulk(helperCopy)
		return
	case miscMemoryInit, miscDataDrop:
		b.w.namesData = true
	}
	if sub >= uint32(len(miscForms)) || !miscForms[sub].known {
		r.fail("instruction 0xfc %d is not supported", sub)
		return
	}
	b.out = appendU32(append(b.out, opMisc), sub)
	b.copy(r.pos, &miscForms[sub])
}

// bulk calls a helper instead of an instruction.
func (b *body) bulk(helper int) {
	b.costs(1)
	b.w.uses[helper] = true
	b.out = appendU32(append(b.out, opCall), b.w.helper(helper))
}

// vector copies an instruction after opVector.
func (b *body) vector() {
	r := b.r
	start := r.pos
	sub := r.u32()
	switch {
	case r.pos-start > 1 && sub < 0x80 || r.pos-start > 2:
		// wazero reads only the first byte as the number.
		r.fail("the number of a vector instruction is longer than it needs to be")
	case sub >= uint32(len(vectorForms)):
		r.fail("vector instruction %#x is not supported", sub)
	default:
		b.copy(start-1, &vectorForms[sub])
	}
}
