package shell

import (
	"slices"
	"strings"
)

// settings judges commands that tell something, but set, send or run something when they get certain arguments. It
// returns false where the command's options are to be judged, too.
func (t *tracer) settings(inv *invocation) bool {
	suspicious := false
	switch inv.name {
	case "history":
		suspicious = slices.ContainsFunc(inv.args, func(a arg) bool {
			return a.maybeOption() || strings.HasPrefix(a.text, "-") && strings.ContainsAny(a.text, "wa")
		})
	case "hostname":
		l := readLine(inv.args, "F file", false)
		suspicious = l.unknown || len(l.operands) > 0 || slices.ContainsFunc(l.options, func(o option) bool { return o.is("F file b boot") })
	case "date":
		l := readLine(inv.args, tools["date"].values, false)
		suspicious = slices.ContainsFunc(l.operands, func(a arg) bool { return !strings.HasPrefix(a.text, "+") })
	case "mount":
		suspicious = !slices.Contains([]string{"", "-l", "--version", "-V"}, lone(inv.args))
	case "sysctl":
		suspicious = slices.ContainsFunc(inv.args, func(a arg) bool {
			return !a.exact || strings.Contains(a.text, "=") || strings.HasPrefix(a.text, "-") && strings.ContainsAny(a.text, "wpf") || a.text == "--system"
		})
	case "ip":
		suspicious = ipChanges(inv.args)
	case "openssl":
		suspicious = !opensslReads(inv.args)
	case "make", "gmake":
		suspicious = makeRunsMore(inv.args)
	case "curl":
		suspicious = curlWrites(inv.args)
	case "sqlite3", "psql", "mysql", "mariadb":
		suspicious = !queries(inv)
	}
	if suspicious {
		t.unjudged(inv.source)
	}
	_, more := tools[inv.name]
	return !more
}

// lone returns the only argument; something that is no option of any command where there are more.
func lone(args []arg) string {
	switch {
	case len(args) == 0:
		return ""
	case len(args) == 1 && args[0].exact:
		return args[0].text
	}
	return "-?"
}

// ipChanges reports whether a line of ip may do more than show: change the network, read a file of commands, or run a
// command in another namespace. ip takes any beginning of a word for it.
func ipChanges(args []arg) bool {
	object := false // has been named
	for _, a := range args {
		switch option := "-" + strings.TrimLeft(a.text, "-"); {
		case !a.exact:
			return true
		case strings.HasPrefix(a.text, "-"):
			if strings.HasPrefix("-batch", option) || strings.HasPrefix("-force", option) && len(option) > 2 {
				return true
			}
		case object:
			for _, verb := range []string{"add", "append", "change", "delete", "exec", "flush", "replace", "restore", "set", "attach", "detach"} {
				if a.text != "" && strings.HasPrefix(verb, a.text) {
					return true
				}
			}
		default:
			object = true
		}
	}
	return false
}

// opensslReads reports whether a line of openssl only prints. What writes files has options of many names.
func opensslReads(args []arg) bool {
	if len(args) == 0 || !args[0].exact {
		return false // reads commands
	}
	if !slices.Contains([]string{"version", "x509", "verify", "asn1parse", "dgst", "ciphers", "list", "help", "errstr", "md5", "sha1", "sha256", "sha512"}, args[0].text) {
		return false
	}
	return !slices.ContainsFunc(args[1:], func(a arg) bool {
		name, _, _ := strings.Cut(strings.TrimLeft(a.text, "-"), "=")
		return a.maybeOption() || strings.HasPrefix(a.text, "-") && (name != "noout" && strings.HasSuffix(name, "out") || slices.Contains([]string{"engine", "provider", "provider-path", "config", "writerand", "CAcreateserial", "CAserial", "sign"}, name))
	})
}

// makeRunsMore reports whether a line of make brings recipes of its own, or takes them from elsewhere behind the targets
// that a rule names. What variables hold is run by recipes; numbers are harmless.
func makeRunsMore(args []arg) bool {
	target := false // has been named
	for _, a := range args {
		name, value, assigned := strings.Cut(a.text, "=")
		switch {
		case a.maybeOption():
			return true
		case strings.HasPrefix(a.text, "--"):
			o := option{name: name[2:]}
			if o.is("eval") || target && o.is("file makefile directory include-dir environment-overrides") {
				return true
			}
		case strings.HasPrefix(a.text, "-"):
			if strings.Contains(a.text, "E") || target && strings.ContainsAny(a.text, "fCIe") {
				return true
			}
		case assigned:
			if !a.exact || isDecisive(name) || value == "" || strings.Trim(value, "0123456789.") != "" {
				return true
			}
		default:
			target = true
		}
	}
	return false
}

// curlWrites reports whether the format of what curl prints, which can name files to write, is more than a plain one.
func curlWrites(args []arg) bool {
	for _, o := range readLine(args, tools["curl"].values, false).options {
		if o.is("w write-out") && (!o.value.exact || strings.Contains(o.value.text, "%output") || strings.HasPrefix(o.value.text, "@")) {
			return true
		}
	}
	return false
}

// queries reports whether a database's shell gets a query in its arguments that neither runs a program nor touches a
// file.
func queries(inv *invocation) bool {
	var text strings.Builder
	for _, a := range inv.args {
		if !a.exact {
			return false
		}
		text.WriteString(strings.ToLower(a.text) + "\n")
	}
	all := text.String()
	switch inv.name {
	case "sqlite3":
		l := readLine(inv.args, "", false)
		if len(l.operands) < 2 || strings.Contains(all, "-init") || strings.Contains(all, "-cmd") || strings.Contains(all, "-a") {
			return false
		}
		for _, a := range l.operands[1:] {
			word, _, _ := strings.Cut(strings.TrimSpace(a.text), " ")
			if strings.HasPrefix(word, ".") && !slices.Contains([]string{".tables", ".schema", ".indexes", ".databases", ".dump"}, word) || strings.Contains(a.text, "\n.") {
				return false
			}
		}
		return !containsAny(all, "writefile", "load_extension", "edit(", "attach", "vacuum", "fts3_tokenizer")
	case "psql":
		return containsAny(all, "-c", "--command", "-l\n") && !containsAny(all, `\`, "program", "-f", "--file", "-o", "--output", "-l=", "--log-file", "-v")
	}
	return containsAny(all, "-e", "--execute") && !containsAny(all, `\`, "system", "source", "tee", "outfile", "dumpfile", "pager", "init-command", "defaults", "plugin")
}

func containsAny(text string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}
