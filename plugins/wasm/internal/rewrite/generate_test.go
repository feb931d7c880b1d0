package rewrite_test

import (
	"encoding/binary"
	"slices"
)

// generator makes valid modules from bytes: the same bytes give the same module, and every sequence of bytes gives one. It covers what
// the rewriter copies, replaces or counts: calls of all kinds, loops, tables, bulk operations, segments in any order, references. Every
// function and loop takes from a supply (global 0), so that all calls end.
type generator struct {
	bytes   []byte
	types   []funcType
	imports []int // types of imported functions
	funcs   []int // types of the others
	globals []byte
	body    []byte
	locals  []byte // types, of the function being made
	results []byte // of it
	labels  int    // open blocks without a type
	size    int    // instructions of the function so far
}

type funcType struct{ params, results []byte }

const (
	i32, i64, f32, f64 = 0x7f, 0x7e, 0x7d, 0x7c

	dataSegments, elementSegments = 5, 2
	supply                        = 3000
	maxInstructions               = 300
)

// n returns a number below limit, 0 when the bytes are used up.
func (g *generator) n(limit int) int {
	if len(g.bytes) == 0 {
		return 0
	}
	b := int(g.bytes[0])
	g.bytes = g.bytes[1:]
	return b % limit
}

func (g *generator) number() int64 {
	edges := [...]int64{0, 1, -1, 7, 255, 65535, 65536, 131072, 1 << 20, -1 << 31, 1<<31 - 1, 300}
	if k := g.n(len(edges) + 4); k < len(edges) {
		return edges[k]
	}
	return int64(g.n(256))<<8 | int64(g.n(256))
}

func (g *generator) valueType() byte { return [...]byte{i32, i32, i32, i64, i64, f32, f64}[g.n(7)] }

func (g *generator) list(limit int) []byte {
	out := make([]byte, g.n(limit))
	for i := range out {
		out[i] = g.valueType()
	}
	return out
}

func leb(v int64) []byte { return appendSigned(nil, v) }

func unsigned(v int) []byte { return binary.AppendUvarint(nil, uint64(v)) }

func appendSigned(b []byte, v int64) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

func vector(items ...[]byte) []byte { return append(unsigned(len(items)), slices.Concat(items...)...) }

func sized(b []byte) []byte { return append(unsigned(len(b)), b...) }

func text(s string) []byte { return sized([]byte(s)) }

func (g *generator) emit(b ...byte) { g.body = append(g.body, b...); g.size++ }

func (g *generator) emitIndex(op byte, index int) { g.emit(append([]byte{op}, unsigned(index)...)...) }

// hostTypes are those of the functions that the test provides as "host" "0", "1" and "2".
var hostTypes = []funcType{{[]byte{i32}, []byte{i32}}, {[]byte{i64, i32}, nil}, {nil, []byte{i64}}}

// generate returns a module.
func generate(source []byte) []byte {
	g := &generator{bytes: source, types: slices.Clone(hostTypes), imports: []int{0, 1, 2}[:g0(source)%4]}
	for range 1 + g.n(4) {
		g.types = append(g.types, funcType{g.list(4), g.list(3)})
	}
	for range 2 + g.n(5) {
		g.funcs = append(g.funcs, g.n(len(g.types)))
	}
	g.globals = append([]byte{i32}, g.list(6)...)
	var types, imports, funcs, globals, exports, bodies [][]byte
	for _, t := range g.types {
		types = append(types, slices.Concat([]byte{0x60}, sized(t.params), sized(t.results)))
	}
	for i, t := range g.imports {
		imports = append(imports, slices.Concat(text("host"), text(string(rune('0'+i))), []byte{0, byte(t)}))
	}
	for i, t := range g.funcs {
		funcs = append(funcs, []byte{byte(t)})
		bodies = append(bodies, sized(g.function(t)))
		exports = append(exports, slices.Concat(text("f"+string(rune('0'+i))), []byte{0, byte(len(g.imports) + i)}))
	}
	if len(g.imports) > 0 {
		exports = append(exports, slices.Concat(text("import"), []byte{0, 0}))
	}
	exports = append(exports, slices.Concat(text("memory"), []byte{2, 0}))
	for i, t := range g.globals {
		value := slices.Concat([]byte{0x41}, leb(supply))
		if i > 0 {
			value = g.constant(t)
		}
		globals = append(globals, slices.Concat([]byte{t, 1}, value, []byte{0x0b}))
		exports = append(exports, slices.Concat(text("g"+string(rune('0'+i))), []byte{3, byte(i)}))
	}
	out := []byte("\x00asm\x01\x00\x00\x00")
	part := func(id byte, content []byte) { out = append(append(out, id), sized(content)...) }
	part(1, vector(types...))
	part(2, vector(imports...))
	part(3, vector(funcs...))
	part(4, vector([]byte{0x70, 1, 8, 20}))
	part(5, vector([]byte{1, 1, 3}))
	part(6, vector(globals...))
	part(7, vector(exports...))
	part(9, vector(g.elements()...))
	part(12, unsigned(dataSegments))
	part(10, vector(bodies...))
	part(11, vector(g.data()...))
	return out
}

// g0 returns the first byte, which is not used up.
func g0(source []byte) int {
	if len(source) == 0 {
		return 0
	}
	return int(source[0])
}

// elements returns an active and a passive segment with all functions.
func (g *generator) elements() [][]byte {
	all := make([][]byte, 0, 8)
	for i := range min(8, len(g.imports)+len(g.funcs)) {
		all = append(all, []byte{byte(i)})
	}
	return [][]byte{
		slices.Concat([]byte{0, 0x41, 0, 0x0b}, vector(all...)),
		slices.Concat([]byte{1, 0}, vector(all...)),
	}
}

// data returns segments that overlap, rise or fall, and two passive ones.
func (g *generator) data() [][]byte {
	var out [][]byte
	for i := range dataSegments {
		content := slices.Repeat([]byte{byte('a' + i)}, g.n(60))
		if i >= dataSegments-2 && g.n(2) == 0 {
			out = append(out, append([]byte{1}, sized(content)...))
			continue
		}
		out = append(out, slices.Concat([]byte{0, 0x41}, leb(int64(g.n(250)*2)), []byte{0x0b}, sized(content)))
	}
	return out
}

// constant returns an instruction that gives a constant.
func (g *generator) constant(t byte) []byte {
	switch t {
	case i32:
		return append([]byte{0x41}, leb(int64(int32(g.number())))...)
	case i64:
		return append([]byte{0x42}, leb(g.number())...)
	case f32:
		return []byte{0x43, byte(g.n(256)), byte(g.n(256)), byte(g.n(256)), byte(0x3f + g.n(3))}
	}
	return []byte{0x44, 0, 0, byte(g.n(256)), byte(g.n(256)), 0, 0, byte(g.n(256)), byte(0x3f + g.n(3))}
}

// function returns the code of a function.
func (g *generator) function(t int) []byte {
	own := g.list(4)
	g.locals, g.results = slices.Concat(g.types[t].params, own), g.types[t].results
	g.body, g.labels, g.size = nil, 0, 0
	g.spend()
	for range 1 + g.n(5) {
		g.statement(4)
	}
	for _, r := range g.results {
		g.value(r, 3)
	}
	groups := make([][]byte, len(own))
	for i, l := range own {
		groups[i] = []byte{1, l}
	}
	return slices.Concat(vector(groups...), g.body, []byte{0x0b})
}

// spend takes one from the supply and traps when there is none.
func (g *generator) spend() {
	g.body = append(g.body, 0x23, 0, 0x45, 0x04, 0x40, 0x00, 0x0b, 0x23, 0, 0x41, 1, 0x6b, 0x24, 0)
}

// find returns the index of an element that equals t, or -1.
func (g *generator) find(list []byte, t byte, from int) int {
	var found []int
	for i := from; i < len(list); i++ {
		if list[i] == t {
			found = append(found, i)
		}
	}
	if len(found) == 0 {
		return -1
	}
	return found[g.n(len(found))]
}

// typeOf returns the type of a function.
func (g *generator) typeOf(f int) int {
	if f < len(g.imports) {
		return g.imports[f]
	}
	return g.funcs[f-len(g.imports)]
}

// call calls a function, directly or through the table, and returns its results.
func (g *generator) call(depth int) []byte {
	f := g.n(len(g.imports) + len(g.funcs))
	t := g.typeOf(f)
	for _, p := range g.types[t].params {
		g.value(p, depth-1)
	}
	if g.n(2) == 0 {
		g.emitIndex(0x10, f)
	} else {
		g.index(8)
		g.emit(append([]byte{0x11}, byte(t), 0)...)
	}
	return g.types[t].results
}

// index gives an i32 that is mostly below limit.
func (g *generator) index(limit int) {
	g.emit(append([]byte{0x41}, leb(int64(g.n(limit+1)))...)...)
}

func (g *generator) address() {
	g.value(i32, 1)
	if g.n(4) > 0 {
		g.emit(0x41, 0xff, 0xff, 0x03, 0x71) // and 65535
	}
}
