package rewrite_test

// value emits instructions that leave a value of a type.
func (g *generator) value(t byte, depth int) {
	if depth <= 0 || g.size > maxInstructions {
		if at := g.find(g.locals, t, 0); at >= 0 && g.n(3) > 0 {
			g.emitIndex(0x20, at)
		} else if at := g.find(g.globals, t, 1); at >= 0 && g.n(2) > 0 {
			g.emitIndex(0x23, at)
		} else {
			g.emit(g.constant(t)...)
		}
		return
	}
	switch g.n(8) {
	case 0:
		g.value(t, 0)
	case 1:
		if results := g.call(depth); len(results) == 1 && results[0] == t {
			return
		} else {
			for range results {
				g.emit(0x1a)
			}
		}
		g.value(t, depth-1)
	case 2: // if with a value
		g.value(i32, depth-1)
		g.emit(0x04, t)
		g.nested(func() { g.value(t, depth-1); g.emit(0x05); g.value(t, depth-1) })
	case 3: // block that is left early
		g.emit(0x02, t)
		g.nested(func() { g.value(t, depth-1); g.value(i32, depth-2); g.emit(0x0d, 0); g.emit(0x1a); g.value(t, depth-1) })
	case 4: // select
		g.value(t, depth-1)
		g.value(t, depth-1)
		g.value(i32, depth-1)
		g.emit(0x1b)
	default:
		g.arithmetic(t, depth)
	}
}

// nested calls make inside of a block with a value, out of which no branch without one leads.
func (g *generator) nested(make func()) {
	labels := g.labels
	g.labels = 0
	make()
	g.labels = labels
	g.emit(0x0b)
}

func (g *generator) arithmetic(t byte, depth int) {
	binary := func(ops ...byte) {
		g.value(t, depth-1)
		g.value(t, depth-1)
		g.emit(ops[g.n(len(ops))])
	}
	switch t {
	case i32:
		g.integer(depth)
	case i64:
		switch g.n(4) {
		case 0: // from i32
			g.value(i32, depth-1)
			g.emit([]byte{0xac, 0xad}[g.n(2)])
		case 1: // load
			g.address()
			g.emit([]byte{0x29, 0x30, 0x35}[g.n(3)], 0, byte(g.n(100)))
		case 2: // from f64, saturating
			g.value(f64, depth-1)
			g.emit(0xfc, byte(6+g.n(2)))
		default:
			binary(0x7c, 0x7d, 0x7e, 0x7f, 0x80, 0x82, 0x83, 0x84, 0x85, 0x86, 0x88)
		}
	case f32:
		binary(0x92, 0x93, 0x94, 0x95, 0x96)
	case f64:
		if g.n(3) == 0 {
			g.value(i64, depth-1)
			g.emit(0xb9)
			return
		}
		binary(0xa0, 0xa1, 0xa2, 0xa3, 0xa4)
	}
}

// integer leaves an i32.
func (g *generator) integer(depth int) {
	switch g.n(9) {
	case 0: // compare
		t := g.valueType()
		g.value(t, depth-1)
		g.value(t, depth-1)
		g.emit(map[byte]byte{i32: 0x48, i64: 0x54, f32: 0x5d, f64: 0x65}[t])
	case 1:
		g.value(i32, depth-1)
		g.emit([]byte{0x45, 0x67, 0xc0, 0xc1}[g.n(4)])
	case 2:
		g.address()
		g.emit([]byte{0x28, 0x2c, 0x2f}[g.n(3)], 0, byte(g.n(100)))
	case 3:
		g.emit(0x3f, 0)
	case 4:
		g.index(2)
		g.emit(0x40, 0)
	case 5: // is a reference null
		if g.n(2) == 0 {
			g.index(8)
			g.emit(0x25, 0)
		} else {
			g.emitIndex(0xd2, g.n(min(8, len(g.imports)+len(g.funcs))))
		}
		g.emit(0xd1)
	case 6: // size and growth of the table
		if g.n(2) == 0 {
			g.emit(0xfc, 16, 0)
			return
		}
		g.emit(0xd0, 0x70)
		g.index(4)
		g.emit(0xfc, 15, 0)
	default:
		g.value(i32, depth-1)
		g.value(i32, depth-1)
		ops := []byte{0x6a, 0x6b, 0x6c, 0x6d, 0x70, 0x71, 0x72, 0x73, 0x74, 0x76, 0x78}
		g.emit(ops[g.n(len(ops))])
	}
}

// statement emits instructions that leave nothing.
func (g *generator) statement(depth int) {
	if depth <= 0 || g.size > maxInstructions {
		g.emit(0x01)
		return
	}
	switch g.n(12) {
	case 0:
		if len(g.locals) > 0 {
			at := g.n(len(g.locals))
			g.value(g.locals[at], depth-1)
			g.emitIndex([]byte{0x21, 0x22}[g.n(2)], at)
			if g.body[len(g.body)-2] == 0x22 {
				g.emit(0x1a)
			}
		}
	case 1:
		if len(g.globals) > 1 {
			at := 1 + g.n(len(g.globals)-1)
			g.value(g.globals[at], depth-1)
			g.emitIndex(0x24, at)
		}
	case 2:
		g.address()
		g.value(i32, depth-1)
		g.emit([]byte{0x36, 0x3a, 0x3b}[g.n(3)], 0, byte(g.n(100)))
	case 3, 4:
		g.bulk()
	case 5:
		for range g.call(depth) {
			g.emit(0x1a)
		}
	case 6: // if
		g.value(i32, depth-1)
		g.block(0x04, func() {
			g.statement(depth - 1)
			if g.n(2) == 0 {
				g.emit(0x05)
				g.statement(depth - 1)
			}
		})
	case 7, 8: // loop
		g.block(0x03, func() {
			g.spend()
			g.statement(depth - 1)
			g.statement(depth - 1)
			g.value(i32, depth-1)
			g.emitIndex(0x0d, g.n(g.labels))
		})
	case 9: // block with a table of branches
		g.block(0x02, func() {
			g.statement(depth - 1)
			g.value(i32, depth-1)
			g.emit(0x0e, 2, byte(g.n(g.labels)), 0, byte(g.n(g.labels)))
		})
	case 10:
		g.leave(depth)
	default:
		g.value(g.valueType(), depth)
		g.emit(0x1a)
	}
}

func (g *generator) block(op byte, make func()) {
	g.emit(op, 0x40)
	g.labels++
	make()
	g.labels--
	g.emit(0x0b)
}

// leave returns from the function when something is not 0, by itself or by a tail call.
func (g *generator) leave(depth int) {
	g.value(i32, depth-1)
	g.emit(0x04, 0x40)
	f := g.n(len(g.imports) + len(g.funcs))
	if t := g.types[g.typeOf(f)]; string(t.results) == string(g.results) && g.n(4) > 0 {
		for _, p := range t.params {
			g.value(p, 1)
		}
		if g.n(2) == 0 {
			g.emitIndex(0x12, f)
		} else {
			g.index(8)
			g.emit(0x13, byte(g.typeOf(f)), 0)
		}
	} else {
		for _, r := range g.results {
			g.value(r, 1)
		}
		g.emit(0x0f)
	}
	g.emit(0x0b)
}

// bulk emits an operation on memory, tables or segments.
func (g *generator) bulk() {
	amount := func() { g.index(200) }
	switch g.n(8) {
	case 0:
		g.address()
		g.value(i32, 1)
		amount()
		g.emit(0xfc, 11, 0)
	case 1:
		g.address()
		g.address()
		amount()
		g.emit(0xfc, 10, 0, 0)
	case 2:
		g.address()
		g.index(20)
		g.index(20)
		g.emit(0xfc, 8, byte(g.n(dataSegments)), 0)
	case 3:
		g.emit(0xfc, 9, byte(g.n(dataSegments)))
	case 4:
		g.index(8)
		g.index(3)
		g.index(3)
		g.emit(0xfc, 12, byte(g.n(elementSegments)), 0)
	case 5:
		g.emit(0xfc, 13, byte(g.n(elementSegments)))
	case 6:
		g.index(8)
		g.index(8)
		g.index(3)
		g.emit(0xfc, 14, 0, 0)
	default:
		g.index(8)
		g.emit(0xd0, 0x70)
		if g.n(2) == 0 {
			g.emit(0x26, 0)
			return
		}
		g.index(3)
		g.emit(0xfc, 17, 0)
	}
}
