package rewrite

import "strings"

// Types of values.
const (
	typeI32       = 0x7f
	typeV128      = 0x7b
	typeFuncref   = 0x70
	typeExternref = 0x6f
	typeFunction  = 0x60 // first byte of a function's type
)

// isValueType reports whether t is the type of a value.
func isValueType(t byte) bool {
	return t >= typeV128 && t <= typeI32 || t == typeFuncref || t == typeExternref
}

// valueType reads the type of a value.
func (r *reader) valueType() {
	if t := r.byte(); !isValueType(t) {
		r.fail("invalid value type %#x", t)
	}
}

// refType reads the type of a reference.
func (r *reader) refType() byte {
	t := r.byte()
	if t != typeFuncref && t != typeExternref {
		r.fail("invalid reference type %#x", t)
	}
	return t
}

// name reads a string.
func (r *reader) name() []byte { return r.take(r.u32()) }

// copied calls read and appends the bytes it read.
func copied(buf []byte, r *reader, read func()) []byte {
	start := r.pos
	read()
	return append(buf, r.data[start:r.pos]...)
}

// Types that are added to the rewritten module: w.types + one of these.
const (
	typeCheck  = iota // () → i32
	typeSlow          // () → ()
	typeBulk          // (i32, i32, i32) → ()
	addedTypes        // number of added types
)

func (w *writer) typeSection(r *reader) {
	w.types = r.count("types", maxTypes)
	w.signatures = make([]signature, w.types)
	w.buf = appendU32(w.buf, uint32(w.types+addedTypes))
	values := 0
	w.buf = copied(w.buf, r, func() {
		for i := range w.signatures {
			if t := r.byte(); t != typeFunction {
				r.fail("invalid function type %#x", t)
			}
			s := &w.signatures[i]
			s.params = r.valueTypes("parameters")
			s.results = r.valueTypes("results")
			if values += len(s.params) + len(s.results); values > maxValues {
				r.fail("the types have more than %d parameters and results", maxValues)
			}
		}
	})
	w.buf = append(w.buf,
		typeFunction, 0, 1, typeI32,
		typeFunction, 0, 0,
		typeFunction, 3, typeI32, typeI32, typeI32, 0)
}

// signature holds the types of a function's parameters and results. The slices alias the module and must not be changed.
type signature struct{ params, results []byte }

// valueTypes reads a list of types.
func (r *reader) valueTypes(what string) []byte {
	n := r.count(what, maxSignature)
	start := r.pos
	for range n {
		r.valueType()
	}
	return r.data[start:r.pos]
}

// typeIndex reads the index of a type. It refuses the larger indexes of added types.
func (w *writer) typeIndex(r *reader) uint32 {
	index := r.u32()
	if int64(index) >= int64(w.types) {
		r.fail("type %d does not exist; the module has %d", index, w.types)
		return 0
	}
	return index
}

// globalIndex reads the index of a global. It refuses the larger index of the counter.
func (w *writer) globalIndex(r *reader) uint32 {
	index := r.u32()
	if index >= w.globals {
		r.fail("global %d does not exist; the module has %d", index, w.globals)
	}
	return index
}

func (w *writer) importSection(r *reader) {
	n := r.count("imports", maxImports)
	w.buf = appendU32(w.buf, uint32(n+1))
	w.buf = copied(w.buf, r, func() {
		for range n {
			i := Import{Module: string(r.name()), Name: string(r.name()), Kind: Kind(r.byte())}
			switch i.Kind {
			case KindFunction:
				w.importFunction(r, &i)
			case KindTable:
				r.refType()
				r.limits()
			case KindMemory:
				r.limits()
				w.foreignMemory = true
			case KindGlobal:
				r.globalType()
				w.globals++
			default:
				r.fail("an import of %s", i.Kind)
			}
			w.imports = append(w.imports, i)
		}
	})
	w.buf = append(appendName(appendName(w.buf, CheckModule), CheckName), byte(KindFunction))
	w.buf = appendU32(w.buf, uint32(w.types+typeCheck))
}

// moved returns the new index of a function. For an imported function with a guard, that is the index of the guard.
func (w *writer) moved(index uint32) uint32 {
	switch {
	case index >= w.imported:
		return index + 1
	case w.guardOf[index] >= 0:
		return w.helper(helpers + w.guardOf[index])
	}
	return index
}

// function copies the index of a function.
func (w *writer) function(buf []byte, r *reader) []byte {
	index := r.u32()
	if uint64(index) >= uint64(w.imported)+uint64(len(w.functions)) {
		r.fail("function %d does not exist; the module has %d", index, uint64(w.imported)+uint64(len(w.functions)))
		return buf
	}
	return appendU32(buf, w.moved(index))
}

// limits reads a minimum and a maximum size. Without a maximum, largest is the largest number.
func (r *reader) limits() (smallest, largest uint32) {
	switch flag := r.byte(); flag {
	case 0:
		return r.u32(), ^uint32(0)
	case 1:
		return r.u32(), r.u32()
	default:
		r.fail("limits of kind %#x, such as shared memory, are not supported", flag)
	}
	return 0, 0
}

func (r *reader) globalType() {
	r.valueType()
	if mutable := r.byte(); mutable > 1 {
		r.fail("a global is neither constant nor mutable")
	}
}

func (w *writer) functionSection(r *reader) {
	n := r.count("functions", maxFunctions)
	w.functions = make([]uint32, n)
	for i := range w.functions {
		w.functions[i] = w.typeIndex(r)
	}
	// The code, which is written later, determines the used helpers. All are declared; an unused one costs a few bytes.
	w.buf = appendU32(w.buf, uint32(n+helpers+len(w.guards)))
	for _, t := range w.functions {
		w.buf = appendU32(w.buf, t)
	}
	for _, t := range [helpers]int{helperSlow: typeSlow, helperFill: typeBulk, helperCopy: typeBulk} {
		w.buf = appendU32(w.buf, uint32(w.types+t))
	}
	for i := range w.guards {
		w.buf = appendU32(w.buf, w.guards[i].typ)
	}
}

func (w *writer) tableSection(r *reader) {
	n := r.count("tables", maxTables)
	w.buf = appendU32(w.buf, uint32(n))
	for range n {
		w.buf = append(w.buf, r.refType())
		smallest, largest := r.limits()
		if smallest > maxElements {
			r.fail("a table of %d elements, at most %d are allowed", smallest, maxElements)
		}
		w.buf = append(w.buf, 1)
		w.buf = appendU32(w.buf, smallest)
		w.buf = appendU32(w.buf, min(largest, maxElements))
	}
}

func (w *writer) memorySection(r *reader) {
	w.buf = copied(w.buf, r, func() {
		for range r.count("memories", 1) {
			r.limits()
		}
	})
}

func (w *writer) globalSection(r *reader) {
	n := r.count("globals", maxGlobals)
	w.globals += uint32(n)
	w.buf = appendU32(w.buf, uint32(n+1))
	for range n {
		w.buf = copied(w.buf, r, r.globalType)
		w.buf = w.constant(w.buf, r)
	}
	w.buf = append(w.buf, typeI32, 1, opI32Const)
	w.buf = appendS64(w.buf, budget)
	w.buf = append(w.buf, opEnd)
}

func (w *writer) exportSection(r *reader) {
	n := r.count("exports", maxExports)
	w.buf = appendU32(w.buf, uint32(n))
	for range n {
		w.buf = copied(w.buf, r, func() { r.name() })
		kind := r.byte()
		w.buf = append(w.buf, kind)
		switch {
		case Kind(kind) == KindFunction:
			w.buf = w.function(w.buf, r)
		case Kind(kind) > KindGlobal:
			r.fail("an export of %s", Kind(kind))
		case Kind(kind) == KindGlobal:
			w.buf = appendU32(w.buf, w.globalIndex(r))
		default:
			w.buf = appendU32(w.buf, r.u32())
		}
	}
}

// Bits of the kind of an element segment.
const (
	elementPassive     = 1 // or declarative, with elementIndex
	elementIndex       = 2 // has the index of its table
	elementExpressions = 4 // expressions instead of indexes
)

func (w *writer) elementSection(r *reader) {
	n := r.count("element segments", maxSegments)
	w.buf = appendU32(w.buf, uint32(n))
	for range n {
		w.element(r)
	}
}

func (w *writer) element(r *reader) {
	kind := r.u32()
	if kind > 7 {
		r.fail("an element segment of kind %d", kind)
		return
	}
	w.buf = appendU32(w.buf, kind)
	if kind&elementPassive == 0 {
		if kind&elementIndex != 0 {
			w.buf = appendU32(w.buf, r.u32())
		}
		w.buf = w.constant(w.buf, r)
	}
	expressions := kind&elementExpressions != 0
	if kind&(elementPassive|elementIndex) != 0 {
		if expressions {
			w.buf = append(w.buf, r.refType())
		} else if b := r.byte(); b != 0 {
			r.fail("elements of kind %d", b)
		} else {
			w.buf = append(w.buf, 0)
		}
	}
	n := r.count("elements", maxElements)
	if w.elements += n; w.elements > maxElements {
		r.fail("more than %d elements in all segments", maxElements)
	}
	w.buf = appendU32(w.buf, uint32(n))
	for range n {
		if !r.more() {
			r.fail("unexpected end")
			return
		}
		if expressions {
			w.buf = w.constant(w.buf, r)
		} else {
			w.buf = w.function(w.buf, r)
		}
	}
}

// constant copies a constant expression.
func (w *writer) constant(buf []byte, r *reader) []byte {
	for r.err == nil {
		start := r.pos
		switch op := r.byte(); {
		case op == opEnd:
			return append(buf, op)
		case op == opGlobalGet:
			buf = appendU32(append(buf, op), w.globalIndex(r))
		case op == opRefFunc:
			buf = w.function(append(buf, op), r)
		case op == opVector:
			if sub := r.u32(); sub != vectorConst {
				r.fail("vector instruction %d in a constant expression", sub)
			}
			buf = append(buf, op, vectorConst)
			buf = append(buf, r.take(16)...)
		case strings.IndexByte(constantOps, op) >= 0:
			w.skip(r, opForms[op].immediates)
			buf = append(buf, r.data[start:r.pos]...)
		default:
			r.fail("instruction %#x in a constant expression", op)
		}
	}
	return buf
}
