package draw

import "github.com/tenonhq/tenon/internal/markdown"

// Theme holds the looks of the screen as SGR parameters. The renderer reduces colors to those of the terminal.
type Theme struct {
	Name                                string
	Accent, User, Ok, Warn, Fail, Faint string
	Selected                            string // of the current row of a list
	Text                                markdown.Style
}

// Themes lists the themes in the order of the picker. The first two suit the background of the terminal.
func Themes(dark bool) []Theme {
	basic := Theme{
		Name: "terminal", Accent: "36", User: "1;36", Ok: "32", Warn: "33", Fail: "31", Faint: "2", Selected: "7", Text: markdown.Basic(),
	}
	rich := func(name string, dark bool) Theme {
		t := Theme{Name: name, Faint: "2", Text: markdown.True(dark)}
		if dark {
			t.Accent, t.User, t.Selected = "38;2;125;207;255", "1;38;2;125;207;255", "48;2;54;58;79"
			t.Ok, t.Warn, t.Fail = "38;2;166;218;149", "38;2;238;212;159", "38;2;237;135;150"
			return t
		}
		t.Accent, t.User, t.Selected = "38;2;4;93;141", "1;38;2;4;93;141", "48;2;220;224;232"
		t.Ok, t.Warn, t.Fail = "38;2;20;105;50", "38;2;150;90;0", "38;2;179;29;40"
		return t
	}
	return []Theme{
		basic, rich("auto", dark), rich("dark", true), rich("light", false),
		{Name: "plain", Accent: "1", User: "1", Warn: "1", Fail: "1", Faint: "", Selected: "7"},
	}
}
