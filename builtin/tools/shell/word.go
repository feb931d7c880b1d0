package shell

import (
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// literal is what is known of a word before it is expanded.
type literal struct {
	text  string
	exact bool // text is all of it; otherwise what follows is known only when the command runs
}

// literalOf evaluates quotes, escapes, ~ and the variables HOME and PWD; it stops at the first glob,
// brace, variable or substitution.
func literalOf(word *syntax.Word, home, dir string) literal {
	var out strings.Builder
	for _, part := range word.Parts {
		text, exact := literalPart(part, home, dir, false)
		out.WriteString(text)
		if !exact {
			return literal{out.String(), false}
		}
	}
	text := out.String()
	if first, ok := word.Parts[0].(*syntax.Lit); ok && strings.HasPrefix(first.Value, "~") {
		text = expandHome(text, home)
	}
	return literal{text, true}
}

// expandHome replaces ~ at the start; another user's home is taken to lie beside home.
func expandHome(text, home string) string {
	if text == "~" || strings.HasPrefix(text, "~/") {
		return home + text[1:]
	}
	if strings.HasPrefix(text, "~") {
		return filepath.Dir(home) + "/" + text[1:]
	}
	return text
}

func literalPart(part syntax.WordPart, home, dir string, quoted bool) (text string, exact bool) {
	switch part := part.(type) {
	case *syntax.Lit:
		if quoted {
			return unescape(&syntax.DblQuoted{Parts: []syntax.WordPart{part}}), true
		}
		return bare(part.Value)
	case *syntax.SglQuoted:
		if part.Dollar {
			return unescape(part), true
		}
		return part.Value, true
	case *syntax.DblQuoted:
		var out strings.Builder
		for _, inner := range part.Parts {
			text, exact := literalPart(inner, home, dir, true)
			out.WriteString(text)
			if !exact {
				return out.String(), false
			}
		}
		return out.String(), true
	case *syntax.ParamExp:
		return variable(part, home, dir)
	case *syntax.CmdSubst:
		if len(part.Stmts) == 1 && isPwd(part.Stmts[0]) {
			return dir, true
		}
	}
	return "", false
}

// bare reads text outside of quotes, up to the first character that makes it a pattern.
func bare(text string) (string, bool) {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '*', '?', '[', '{':
			return out.String(), false
		case '\\':
			if i++; i == len(text) {
				return out.String(), true
			}
		}
		out.WriteByte(text[i])
	}
	return out.String(), true
}

// unescape takes the escapes of "…" and $'…' away as the shell does.
func unescape(part syntax.WordPart) string {
	text, err := expand.Literal(nil, &syntax.Word{Parts: []syntax.WordPart{part}})
	if err != nil {
		return ""
	}
	return text
}

func variable(p *syntax.ParamExp, home, dir string) (string, bool) {
	if p.Param == nil || p.Excl || p.Length || p.Width || p.IsSet || p.Index != nil || p.Slice != nil || p.Repl != nil || p.Exp != nil {
		return "", false
	}
	switch p.Param.Value {
	case "HOME":
		return home, true
	case "PWD":
		return dir, true
	}
	return "", false
}

func isPwd(stmt *syntax.Stmt) bool {
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	return ok && len(call.Args) == 1 && call.Args[0].Lit() == "pwd" && len(stmt.Redirs) == 0
}

// pathsIn returns what in an argument could be a path: the argument, the parts of host:path, key=value
// and {a,b}, and what is glued to a flag of one letter. Of an argument that is not known to its end it
// returns the directory that is known.
func pathsIn(arg literal, home string) []string {
	if arg.text == "" || len(arg.text) > 4096 || strings.Contains(arg.text, "://") {
		return nil
	}
	pieces := []string{arg.text}
	if strings.ContainsAny(arg.text, "=:,{}") {
		pieces = append(pieces, strings.FieldsFunc(arg.text, func(r rune) bool { return strings.ContainsRune("=:,{}", r) })...)
	}
	if len(arg.text) > 2 && arg.text[0] == '-' && arg.text[1] != '-' {
		pieces = append(pieces, arg.text[2:])
	}
	var out []string
	for i, piece := range pieces {
		if strings.HasPrefix(piece, "-") {
			continue
		}
		if last := i == 0 || strings.HasSuffix(arg.text, piece); !arg.exact && last {
			at := strings.LastIndexByte(piece, '/')
			if at < 0 {
				continue
			}
			piece = piece[:at+1]
		}
		if strings.HasPrefix(piece, "~/") {
			piece = home + piece[1:]
		}
		if piece != "" && !slices.Contains(out, piece) {
			out = append(out, piece)
		}
	}
	return out
}

// isDevice reports whether the path is one of the files that stand for nothing on the disk.
func isDevice(path string) bool {
	switch path := filepath.ToSlash(path); path {
	case "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "NUL", "nul":
		return true
	default:
		return strings.HasPrefix(path, "/dev/fd/")
	}
}
