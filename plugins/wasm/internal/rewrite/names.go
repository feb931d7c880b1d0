package rewrite

import "github.com/tenonhq/tenon/internal/visible"

// subsectionFunctions is the part of the names section that names functions.
const subsectionFunctions = 1

// names writes the names of the functions, for stack traces, with their new indexes. It drops malformed names, and cuts long ones: a trace
// repeats them.
func (w *writer) names() {
	r := w.nameSection
	for r != nil && r.more() {
		id := r.byte()
		part := r.part(r.u32())
		if r.err == nil && id == subsectionFunctions {
			w.functionNames(part)
			return
		}
	}
}

func (w *writer) functionNames(r *reader) {
	n := r.count("names", maxImports+maxFunctions)
	content := appendU32(nil, uint32(n+len(w.guards)))
	previous := int64(-1)
	for range n {
		index := r.u32()
		name := visible.Cut(string(r.name()), maxFunctionName, "…")
		if r.err != nil || int64(index) <= previous || uint64(index) >= uint64(w.imported)+uint64(len(w.functions)) {
			return
		}
		previous = int64(index)
		if index >= w.imported {
			index++
		}
		content = appendName(appendU32(content, index), name)
	}
	for i := range w.guards {
		content = appendName(appendU32(content, w.helper(helpers+i)), w.guards[i].name)
	}
	w.buf = append(w.buf[:0], 4, 'n', 'a', 'm', 'e')
	w.buf = appendSection(w.buf, subsectionFunctions, content)
	w.out = appendSection(w.out, sectionCustom, w.buf)
}

func appendName(b []byte, name string) []byte {
	return append(appendU32(b, uint32(len(name))), name...)
}
