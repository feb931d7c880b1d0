package permission_test

import (
	"testing"

	"github.com/tenonhq/tenon/host/permission"
)

func TestShadowed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rules []string
		want  int // index of the rule that never decides, -1: none
	}{
		"behind it all":      {[]string{"bash", "git *", "allow", "bash", "*", "ask"}, 0},
		"before":             {[]string{"bash", "*", "ask", "bash", "git *", "allow"}, -1},
		"the same":           {[]string{"bash", "ls", "ask", "bash", "ls", "allow"}, 0},
		"a longer prefix":    {[]string{"bash", "git push *", "deny", "bash", "git *", "allow"}, 0},
		"an overlap":         {[]string{"bash", "* --force", "deny", "bash", "git *", "allow"}, -1},
		"one character":      {[]string{"bash", "a*", "deny", "bash", "a?", "allow"}, -1},
		"the tail":           {[]string{"bash", "git *", "deny", "bash", "git ?*", "allow"}, -1},
		"all permissions":    {[]string{"edit", "a", "deny", "*", "*", "allow"}, 0},
		"another permission": {[]string{"edit", "a", "deny", "bash", "*", "allow"}, -1},
		"a source":           {[]string{"mcp:x", "*", "deny", "*", "*", "allow"}, -1},
		"a source by source": {[]string{"mcp:x", "*", "deny", "mcp:*", "*", "allow"}, 0},
		"home":               {[]string{"read", "~/a", "deny", "read", "/h/*", "allow"}, 0},
		"of the project":     {[]string{"read", "/h/app/keys/a", "deny", "read", "*/keys/*", "allow"}, -1},
		"not of the project": {[]string{"bash", "/h/app/keys/a", "deny", "bash", "*/keys/*", "allow"}, 0},
		"relative, absolute": {[]string{"read", "keys/a", "deny", "read", "/h/app/keys/*", "allow"}, 0},
		"absolute, relative": {[]string{"edit", "~/app/keys/a", "deny", "edit", "keys/*", "allow"}, 0},
		"also elsewhere":     {[]string{"read", "*.env", "deny", "read", "/h/app/*", "allow"}, -1},
	} {
		list := rules(c.rules...)
		got := permission.Shadowed("/h", "/h/app", list)
		if c.want < 0 && len(got) > 0 || c.want >= 0 && (len(got) != 1 || got[0].Rule != list[c.want]) {
			t.Errorf("%s: Shadowed = %v", name, got)
		}
	}
	if got := permission.Shadowed("", "", append(permission.Defaults(), rules("*", "*", "deny")...)); len(got) != 0 {
		t.Errorf("the defaults: %v", got)
	}
}
