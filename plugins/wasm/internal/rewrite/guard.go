package rewrite

import "slices"

// Guard describes the checks before each call of an imported function, by name, through a table or from outside. The zero value means no
// checks.
type Guard struct {
	Ask    bool    // ask the host whether the module may continue
	Limits []Limit // limits of arguments
}

// Limit limits an argument, which must be an i32. If a call exceeds it (unsigned), the function is not called and Result, an i32, is returned as
// its only result.
type Limit struct {
	Param  int
	Max    uint32
	Result int32
}

// guarded is a function of the rewritten module that checks and then calls an imported function.
type guarded struct {
	Guard
	index  uint32 // of the imported function
	typ    uint32
	params int
	name   string
}

// importFunction reads the type of an imported function and adds its guard.
func (w *writer) importFunction(r *reader, i *Import) {
	typ := w.typeIndex(r)
	if r.err != nil {
		return
	}
	s := w.signatures[typ]
	i.Params, i.Results = s.params, s.results
	at := -1
	if w.guard != nil {
		if g := w.guard(i); g.Ask || len(g.Limits) > 0 {
			for _, l := range g.Limits {
				if l.Param >= len(s.params) || s.params[l.Param] != typeI32 || !slices.Equal(s.results, []byte{typeI32}) {
					r.fail("the type of %q from %q does not have the i32 parameter %d and one i32 result", i.Name, i.Module, l.Param)
				}
			}
			at = len(w.guards)
			w.guards = append(w.guards, guarded{Guard: g, index: w.imported, typ: typ, params: len(s.params), name: i.Name})
		}
	}
	w.guardOf = append(w.guardOf, at)
	w.imported++
}
