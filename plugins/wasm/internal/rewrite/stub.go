package rewrite

// Stub returns the module with functions that only trap. It replaces the module for a host that already has the native code, and takes a
// fraction of the time to read and validate.
func Stub(rewritten *Module) ([]byte, error) {
	s, err := split(rewritten.Wasm)
	if err != nil {
		return nil, err
	}
	out := []byte(header)
	for _, id := range order {
		r := s.part[id]
		switch {
		case r == nil:
		case id == sectionCode:
			n := r.count("functions", maxFunctions+helpers+maxImports)
			content := appendU32(nil, uint32(n))
			for range n {
				content = append(content, 3, 0, opUnreachable, opEnd)
			}
			out = appendSection(out, id, content)
		default:
			out = appendSection(out, id, r.take(uint32(len(r.data))))
		}
	}
	if r := s.nameSection; r != nil {
		out = appendSection(out, sectionCustom, r.data)
	}
	return out, nil
}
