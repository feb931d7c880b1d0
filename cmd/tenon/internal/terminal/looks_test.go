package terminal

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/internal/markdown"
)

func TestLooks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env  map[string]string
		want markdown.Style
	}{
		"background unknown": {map[string]string{"TERM": "xterm-256color", "COLORTERM": "truecolor"}, markdown.Basic()},
		"true color, dark":   {map[string]string{"TERM": "xterm-256color", "COLORTERM": "truecolor", "COLORFGBG": "15;0"}, markdown.True(true)},
		"true color, light":  {map[string]string{"TERM": "xterm-256color", "COLORTERM": "truecolor", "COLORFGBG": "0;default;15"}, markdown.True(false)},
		"256 colors":         {map[string]string{"TERM": "xterm-256color", "COLORFGBG": "0;7"}, markdown.Indexed(false)},
		"16 colors":          {map[string]string{"TERM": "xterm", "COLORFGBG": "15;0"}, markdown.Basic()},
		"not a color":        {map[string]string{"TERM": "xterm-kitty", "COLORFGBG": "15;default"}, markdown.Basic()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, looks(func(name string) string { return c.env[name] })); diff != "" {
				t.Errorf("-want +have:\n%s", diff)
			}
		})
	}
}

func TestHyperlinks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env  map[string]string
		want bool
	}{
		"unknown":      {map[string]string{"TERM": "xterm-256color"}, false},
		"by TERM":      {map[string]string{"TERM": "xterm-kitty"}, true},
		"by program":   {map[string]string{"TERM_PROGRAM": "iTerm.app"}, true},
		"VTE":          {map[string]string{"VTE_VERSION": "7600"}, true},
		"an old VTE":   {map[string]string{"VTE_VERSION": "4800"}, false},
		"tmux":         {map[string]string{"TERM": "tmux-256color", "TMUX": "/tmp/tmux-0/default,1,0"}, true},
		"forced":       {map[string]string{"FORCE_HYPERLINK": "1"}, true},
		"switched off": {map[string]string{"FORCE_HYPERLINK": "0", "TERM": "xterm-kitty"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if have := hyperlinks(func(name string) string { return c.env[name] }); have != c.want {
				t.Errorf("hyperlinks = %v", have)
			}
		})
	}
}
