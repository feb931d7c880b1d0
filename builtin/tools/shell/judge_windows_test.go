package shell

import "testing"

// Words that are absolute for a program on Windows, or for Git's bash, are not paths of the project.
func TestFromOnWindows(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a": `D:\project\a`, `C:\a`: `C:\a`, "c:/a": "c:/a", "/c/Users/a": `c:\Users\a`, "/c": `c:\`, `\Users\a`: `D:\Users\a`, "/tmp/a": `D:/tmp/a`,
		"c:a": `c:\a`, "//server/share/a": "//server/share/a", "": `D:\project\`,
		"/./c/a": `c:\a`, "/tmp/../c/a": `c:\a`, "../../c/a": `c:\a`, "///c/a": `c:\a`, "../a": `D:\a`, "a/../b": `D:\project\a/../b`,
	} {
		if got := from(`D:\project`, text); got != want {
			t.Errorf("from(%q) = %q, want %q", text, got, want)
		}
	}
}
