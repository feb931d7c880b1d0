package terminal

import (
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/colorprofile"

	"github.com/tenonhq/tenon/internal/markdown"
)

// dumb reports whether a terminal understands no escape sequences. Only Windows has terminals without TERM that do.
func dumb(env func(string) string) bool {
	term := env("TERM")
	return term == "dumb" || term == "" && runtime.GOOS != "windows"
}

// looks returns the style of Markdown for a terminal with colors: the terminal's own 16 colors, or more if it reports them and its background.
// A palette for the wrong background would be unreadable.
func looks(env func(string) string) markdown.Style {
	dark, known := background(env("COLORFGBG"))
	if !known {
		return markdown.Basic()
	}
	var variables []string
	for _, name := range []string{"TERM", "COLORTERM", "WT_SESSION", "GOOGLE_CLOUD_SHELL"} {
		variables = append(variables, name+"="+env(name))
	}
	switch colorprofile.Env(variables) {
	case colorprofile.TrueColor:
		return markdown.True(dark)
	case colorprofile.ANSI256:
		return markdown.Indexed(dark)
	}
	return markdown.Basic()
}

// background returns whether the background is dark by COLORFGBG, such as "15;0" or "0;default;15": the last number is one of the 16 colors.
// As in Vim, 7 and 9 to 15 are light: https://vimhelp.org/options.txt.html, "background".
func background(colors string) (dark, known bool) {
	n, err := strconv.Atoi(colors[strings.LastIndexByte(colors, ';')+1:])
	return n != 7 && n < 9, err == nil && n >= 0 && n < 16
}

// hyperlinks reports whether a terminal supports hyperlinks (OSC 8), according to https://github.com/Alhadis/OSC8-Adoption.
// FORCE_HYPERLINK overrides this: 0 means no, any other value yes. tmux removes links that the outer terminal does not support.
func hyperlinks(env func(string) string) bool {
	if force := env("FORCE_HYPERLINK"); force != "" {
		return force != "0"
	}
	if env("WT_SESSION")+env("KONSOLE_VERSION")+env("DOMTERM")+env("TMUX") != "" {
		return true
	}
	if vte, err := strconv.Atoi(env("VTE_VERSION")); err == nil && vte > 5000 { // 0.50.0 crashes
		return true
	}
	known := []string{"iTerm.app", "WezTerm", "vscode", "ghostty", "rio", "Hyper", "mintty", "kitty", "alacritty", "foot", "contour"}
	return slices.ContainsFunc(known, func(name string) bool { return env("TERM_PROGRAM") == name || strings.Contains(env("TERM"), name) })
}
