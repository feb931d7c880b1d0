package chat

import "testing"

func TestUnfinishedAndComposed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{ // "…": unfinished
		"":                       "",
		"a":                      "a",
		`a\`:                     "…",
		`a\\`:                    `a\\`,
		`"""`:                    "…",
		"\"\"\"\na":              "…",
		"\"\"\"\na\n\nb\n\"\"\"": "a\n\nb",
		`"""one"""`:              "one",
		`""""""`:                 "",
		`say """x`:               `say """x`,
	} {
		have, _, done := composed(text)
		if !done {
			have = "…"
		}
		if have != want {
			t.Errorf("%q is %q, want %q", text, have, want)
		}
	}
}
func TestCommandLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"/help":          "help|",
		"/model a/b":     "model|a/b",
		"/x  one  two ":  "x|one  two",
		"/x\none\ntwo":   "x|one\ntwo",
		"/":              "|",
		" /help":         "no",
		"explain /help":  "no",
		"exit":           "exit|",
		":q":             "exit|",
		"exit the loop?": "no",
	} {
		have := "no"
		if name, args, ok := commandLine(text); ok {
			have = name + "|" + args
		}
		if have != want {
			t.Errorf("commandLine(%q) = %q, want %q", text, have, want)
		}
	}
}
