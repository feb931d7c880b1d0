package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// redirected judges a redirection: a file that is written, or one that reaches out.
func (t *tracer) redirected(r *syntax.Redirect, dirs []string) {
	if r.Word == nil || r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc || r.Op == syntax.WordHdoc {
		return
	}
	text := slice(t.source, r.Pos(), r.Word.End())
	if len(r.Word.Parts) > 0 {
		if _, ok := r.Word.Parts[0].(*syntax.ProcSubst); ok {
			return // its command is judged
		}
	}
	a := arg{word: r.Word}
	if words := expandBraces(r.Word); len(words) == 1 && words[0] != nil {
		a = t.value(words[0], dirs[0])
	}
	if strings.HasPrefix(path.Clean(a.text), "/dev/tcp") || strings.HasPrefix(path.Clean(a.text), "/dev/udp") {
		t.unjudged(text)
		return
	}
	switch r.Op {
	case syntax.RdrIn:
		if !a.exact && !a.plain && (a.text == "" || strings.HasPrefix(a.text, "/dev") || strings.HasPrefix("/dev/", a.text)) {
			t.unjudged(text)
		}
	case syntax.DplIn, syntax.DplOut:
		if a.exact && (a.text == "-" || strings.Trim(a.text, "0123456789-") == "") {
			return
		}
		fallthrough
	default:
		if !a.exact {
			t.unjudged(text)
			return
		}
		if a.text == "-" {
			a.text = "./-" // a file of that name here
		}
		t.wrote(dirs, a.text, false)
	}
}

// hidden looks through a whole script for what is evaluated although it is written as text, and for assignments to
// what decides about other commands.
func (t *tracer) hidden(file *syntax.File) {
	h := &hidden{t: t, suspect: map[string]bool{}}
	if strings.Contains(t.source, "\r") {
		t.unjudged(t.source) // which shells and the parser read in different ways
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		h.assigned(node)
		return true
	})
	for name := range h.suspect {
		delete(t.loopValues, name)
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		h.evaluated(node)
		return true
	})
}

type hidden struct {
	t       *tracer
	suspect map[string]bool // variables that may hold text which arithmetic would run
}

// assigned notes which variables get what.
func (h *hidden) assigned(node syntax.Node) {
	switch node := node.(type) {
	case *syntax.Assign:
		if node.Name == nil {
			return
		}
		if isDecisive(node.Name.Value) && !node.Naked {
			h.t.unjudged(slice(h.t.source, node.Pos(), node.End()))
		}
		if node.Value == nil || strings.Trim(node.Value.Lit(), "0123456789") != "" || node.Value.Lit() == "" {
			h.suspect[node.Name.Value] = true
		}
	case *syntax.WordIter:
		h.loop(node)
	case *syntax.CallExpr:
		h.read(node)
	case *syntax.ParamExp:
		if node.Exp != nil && node.Param != nil && (node.Exp.Op == syntax.AssignUnset || node.Exp.Op == syntax.AssignUnsetOrNull) {
			h.suspect[node.Param.Value] = true
			if isDecisive(node.Param.Value) {
				h.t.unjudged(slice(h.t.source, node.Pos(), node.End()))
			}
		}
	}
}

// read notes the variables that builtins fill.
func (h *hidden) read(call *syntax.CallExpr) {
	if len(call.Args) == 0 || !slices.Contains([]string{"read", "mapfile", "readarray", "getopts", "printf"}, call.Args[0].Lit()) {
		return
	}
	h.suspect["REPLY"], h.suspect["MAPFILE"] = true, true
	for _, a := range h.t.args(call.Args[1:], "") {
		if a.exact && !isFlag(a.text) {
			h.suspect[a.text] = true
		}
	}
}

// loop judges the values of a loop's variable.
func (h *hidden) loop(node *syntax.WordIter) {
	name := node.Name.Value
	if isDecisive(name) {
		h.t.unjudged("for " + name)
	}
	numbers, plain := true, len(node.Items) > 0
	for _, item := range node.Items {
		for _, word := range expandBraces(item) {
			if word == nil {
				numbers, plain = false, false
				continue
			}
			a := h.t.value(word, "")
			numbers = numbers && a.exact && strings.Trim(a.text, "0123456789") == ""
			plain = plain && (a.exact || a.glob) && !strings.HasPrefix(a.text, "-") && !strings.ContainsAny(a.text, " \t\n;|&<>()$`'\"\\=") && !strings.HasPrefix(a.text, "/dev")
		}
	}
	before, again := h.t.loopValues[name]
	h.t.loopValues[name] = plain && (before || !again)
	switch {
	case numbers:
	case plain:
		h.suspect["$"+name] = true // in arithmetic only
	default:
		h.suspect[name] = true
	}
}

// evaluated judges what arithmetic and expansions would evaluate.
func (h *hidden) evaluated(node syntax.Node) {
	bad := func(n syntax.Node) { h.t.unjudged(slice(h.t.source, n.Pos(), n.End())) }
	switch node := node.(type) {
	case *syntax.ParamExp:
		if node.Excl && node.Names == 0 && !isKeys(node) || node.Exp != nil && node.Exp.Op == syntax.OtherParamOps && node.Exp.Word != nil && node.Exp.Word.Lit() == "P" || node.Flags != nil || node.NestedParam != nil {
			bad(node)
			return
		}
		if node.Index != nil && !allElements(node.Index) && h.runs(node.Index) || node.Slice != nil && (node.Slice.Offset != nil && h.runs(node.Slice.Offset) || node.Slice.Length != nil && h.runs(node.Slice.Length)) || quotesCode(node) {
			bad(node)
		}
	case *syntax.ArithmExp:
		if h.runs(node.X) {
			bad(node)
		}
	case *syntax.ArithmCmd:
		if h.runs(node.X) {
			bad(node)
		}
	case *syntax.LetClause:
		if slices.ContainsFunc(node.Exprs, func(x syntax.ArithmExpr) bool { return h.runs(x) }) {
			bad(node)
		}
	case *syntax.CStyleLoop:
		for _, x := range []syntax.ArithmExpr{node.Init, node.Cond, node.Post} {
			if x != nil && h.runs(x) {
				bad(node)
			}
		}
	case *syntax.Assign:
		if node.Index != nil && h.runs(node.Index) {
			bad(node)
		}
	case *syntax.ArrayElem:
		if node.Index != nil && h.runs(node.Index) {
			bad(node)
		}
	case *syntax.BinaryTest:
		switch node.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			if h.runs(node.X) || h.runs(node.Y) {
				bad(node)
			}
		}
	case *syntax.UnaryTest:
		if word, ok := node.X.(*syntax.Word); ok && (node.Op == syntax.TsVarSet || node.Op == syntax.TsRefVar) && (word.Lit() == "" || strings.ContainsAny(word.Lit(), "[$`\\")) {
			bad(node)
		}
	case *syntax.ExtGlob:
		if strings.ContainsAny(node.Pattern.Value, "$`") || strings.Contains(node.Pattern.Value, "<(") || strings.Contains(node.Pattern.Value, ">(") {
			bad(node) // the parser keeps it as text; the shell substitutes in it
		}
	case *syntax.DeclClause:
		if slices.ContainsFunc(node.Args, func(a *syntax.Assign) bool { return a.Name == nil && a.Value != nil && !isFlagWord(a.Value) }) {
			bad(node)
		}
	}
}

// isFlagWord reports whether the word is an option under which no value is evaluated: -i and -n do.
func isFlagWord(word *syntax.Word) bool {
	return isFlag(word.Lit()) && !strings.ContainsAny(word.Lit(), "in")
}

// isKeys reports whether the expansion is ${!name[@]}, the keys of an array.
func isKeys(p *syntax.ParamExp) bool { return p.Index != nil && allElements(p.Index) }

func allElements(x syntax.ArithmExpr) bool {
	word, ok := x.(*syntax.Word)
	return ok && (word.Lit() == "@" || word.Lit() == "*")
}

// runs reports whether evaluating the expression may run text: quoted text, or a variable that may hold some.
func (h *hidden) runs(x syntax.Node) bool {
	found := false
	syntax.Walk(x, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.CmdSubst, *syntax.SglQuoted:
			// What a command prints is evaluated, too.
			found = true
			return false
		case *syntax.DblQuoted:
			return true
		case *syntax.ParamExp:
			if node.Length {
				return true
			}
			if node.Param != nil && (h.mayRun(node.Param.Value) || strings.Trim(node.Param.Value, "0123456789@*") == "") {
				found = true
			}
		case *syntax.Lit:
			// An assignment decides about other commands: echo $((PATH=1)).
			if strings.ContainsAny(node.Value, "\\`$[") || h.mayRun(node.Value) || isDecisive(node.Value) {
				found = true
			}
		}
		return !found
	})
	return found
}

func (h *hidden) mayRun(name string) bool { return h.suspect[name] || h.suspect["$"+name] }

// quotesCode reports whether single quotes in an expansion hold a substitution: within double quotes the shell does
// not take them for quotes.
func quotesCode(p *syntax.ParamExp) bool {
	found := false
	syntax.Walk(p, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.CmdSubst:
			return false
		case *syntax.SglQuoted:
			found = found || strings.ContainsAny(node.Value, "$`")
		}
		return true
	})
	return found
}
