package rewrite

import (
	"bytes"
	"fmt"
	"slices"
)

// Version changes whenever the output for a module changes.
const Version = 4

// The imported function, () → i32, by which a rewritten module asks whether it may continue.
const (
	CheckModule = "tenon_deadline"
	CheckName   = "check"
)

// Module is a rewritten module.
type Module struct {
	Wasm    []byte
	Imports []Import // of the original module
}

// Import is an import of a module.
type Import struct {
	Module, Name string
	Kind         Kind
	// Types of a function's parameters and results, as in the binary format. They alias the module and must not be changed.
	Params, Results []byte
}

// Kind is the kind of an import or export.
type Kind byte

// The kinds.
const (
	KindFunction Kind = 0
	KindTable    Kind = 1
	KindMemory   Kind = 2
	KindGlobal   Kind = 3
)

// String returns the name of the kind.
func (k Kind) String() string {
	names := [...]string{"function", "table", "memory", "global"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("kind %d", byte(k))
}

// Numbers of sections.
const (
	sectionCustom    = 0
	sectionType      = 1
	sectionImport    = 2
	sectionFunction  = 3
	sectionTable     = 4
	sectionMemory    = 5
	sectionGlobal    = 6
	sectionExport    = 7
	sectionStart     = 8
	sectionElement   = 9
	sectionCode      = 10
	sectionData      = 11
	sectionDataCount = 12
	sectionKinds     = 13
)

// section is a section of the rewritten module.
type section struct {
	id     byte
	write  func(*writer, *reader) // its content
	always bool                   // the rewritten module has it even if the original one does not
}

// order lists the sections in the order they have in a module.
var order = [...]section{
	{sectionType, (*writer).typeSection, true},
	{sectionImport, (*writer).importSection, true},
	{sectionFunction, (*writer).functionSection, true},
	{sectionTable, (*writer).tableSection, false},
	{sectionMemory, (*writer).memorySection, false},
	{sectionGlobal, (*writer).globalSection, true},
	{sectionExport, (*writer).exportSection, false},
	{sectionStart, func(w *writer, r *reader) { w.buf = w.function(w.buf, r) }, false},
	{sectionElement, (*writer).elementSection, false},
	{sectionDataCount, func(_ *writer, r *reader) { r.u32() }, false}, // dataCount writes it
	{sectionCode, (*writer).codeSection, true},
	{sectionData, (*writer).dataSection, false},
}

const header = "\x00asm\x01\x00\x00\x00"

// Rewrite returns the module with checks. guard returns the guard of an imported function; if nil, there are none. Errors wrap ErrMalformed.
// Rewrite checks every index of the kinds that it adds to, so that the module cannot refer to additions. All other validation is left to the
// compiler.
func Rewrite(wasm []byte, guard func(*Import) Guard) (*Module, error) {
	s, err := split(wasm)
	if err != nil {
		return nil, err
	}
	w := &writer{sections: s, out: append(make([]byte, 0, len(wasm)+len(wasm)/4), header...), guard: guard}
	for _, o := range order {
		if err := w.section(o); err != nil {
			return nil, err
		}
	}
	w.names()
	return &Module{Wasm: w.out, Imports: w.imports}, nil
}

// sections are the parts of a module by their number.
type sections struct {
	part        [sectionKinds]*reader // nil: missing
	nameSection *reader               // the custom section "name"
}

// split finds the sections.
func split(wasm []byte) (*sections, error) {
	r := &reader{data: wasm}
	if head := r.take(uint32(min(len(header), len(wasm)))); string(head) != header {
		hint := ""
		switch {
		case len(head) >= 8 && string(head[:4]) == header[:4] && head[6] == 1:
			hint = "; it is a component, not a core module"
		case bytes.HasPrefix(wasm, []byte("version https://git-lfs.")): // see https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md
			hint = "; it is a pointer of Git LFS, whose files are not fetched: commit the module itself"
		}
		return nil, fmt.Errorf("%w: it does not begin like a WebAssembly module of version 1%s", ErrMalformed, hint)
	}
	s := &sections{}
	next := 0
	for r.more() {
		id := r.byte()
		part := r.part(r.u32())
		switch {
		case r.err != nil:
		case id == sectionCustom:
			name := part.text()
			if r.err = part.err; r.err == nil && name == "name" && s.nameSection == nil {
				s.nameSection = part
			}
		case id >= sectionKinds:
			r.fail("unknown section %d", id)
		default:
			at := slices.IndexFunc(order[:], func(o section) bool { return o.id == id })
			if at < next {
				r.fail("section %d is out of order", id)
				break
			}
			next = at + 1
			s.part[id] = part
		}
	}
	return s, r.err
}

// writer writes the new module.
type writer struct {
	*sections
	out     []byte
	buf     []byte // the section being written
	imports []Import

	guard      func(*Import) Guard // nil: none
	guards     []guarded
	guardOf    []int       // for each imported function: its position in guards, or -1
	signatures []signature // of the types

	types     int           // of the original module
	imported  uint32        // functions
	functions []uint32      // types of the functions that are not imported
	globals   uint32        // imported ones included
	elements  int           // of all segments
	uses      [helpers]bool // the helpers that the code calls
	weigh     []byte        // the code of a check, before and after the weight
	settle    []byte
	namesData bool // the code refers to data segments

	foreignMemory bool // the memory is imported
}

// section writes a section. It omits a missing one, unless the rewritten module needs it.
func (w *writer) section(s section) error {
	r := w.part[s.id]
	if r == nil {
		// The number of data segments is compared with the declared one.
		if !s.always && (s.id != sectionData || w.part[sectionDataCount] == nil) {
			return nil
		}
		r = &reader{data: []byte{0}} // an empty vector
	}
	w.buf = w.buf[:0]
	s.write(w, r)
	r.done(fmt.Sprintf("section %d", s.id))
	switch {
	case r.err != nil:
		return r.err
	case s.id == sectionDataCount:
		return nil // dataCount writes it if the code needs it
	case s.id == sectionCode:
		w.dataCount()
	}
	w.out = appendSection(w.out, s.id, w.buf)
	return nil
}

// dataCount writes the number of data segments if the code refers to segments. Otherwise it is not needed, and segments may be joined.
func (w *writer) dataCount() {
	if r := w.part[sectionDataCount]; r != nil && w.namesData {
		w.out = appendSection(w.out, sectionDataCount, r.data)
	}
}

func appendSection(out []byte, id byte, content []byte) []byte {
	out = append(out, id)
	out = appendU32(out, uint32(len(content)))
	return append(out, content...)
}

// Stub returns the module with functions that only trap. It replaces the module for a host that already has the native code, and takes a
// fraction of the time to read and validate.
func Stub(rewritten *Module) ([]byte, error) {
	s, err := split(rewritten.Wasm)
	if err != nil {
		return nil, err
	}
	out := []byte(header)
	for _, o := range order {
		r := s.part[o.id]
		switch {
		case r == nil:
		case o.id == sectionCode:
			n := r.count("functions", maxFunctions+helpers+maxImports)
			content := appendU32(nil, uint32(n))
			for range n {
				content = append(content, 3, 0, opUnreachable, opEnd)
			}
			out = appendSection(out, o.id, content)
		default:
			out = appendSection(out, o.id, r.take(uint32(len(r.data))))
		}
	}
	if r := s.nameSection; r != nil {
		out = appendSection(out, sectionCustom, r.data)
	}
	return out, nil
}
