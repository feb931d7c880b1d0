//go:build unix

package plugins_test

import (
	"os"
	"path/filepath"
	"testing"
)

// TestInterpreterOfTheProject: the program that a manifest names is not one of the project, although PATH has a directory of it.
func TestInterpreterOfTheProject(t *testing.T) {
	p := newPlace(t)
	p.write("project/.venv", files{"bin/interpreter": "+x#!/bin/sh\n"})
	p.write("system", files{"interpreter": "+x#!/bin/sh\n"})
	t.Setenv("PATH", p.path("project/.venv/bin")+string(filepath.ListSeparator)+p.path("system")+string(filepath.ListSeparator)+os.Getenv("PATH"))
	p.write("config/plugins/a", files{"plugin.json": manifestOf("a", `{"runtime": {"type": "process", "command": ["interpreter", "./main"]}, `+oneHook+`}`), "main": "x"})
	if p.approve(); len(p.process.opened) != 1 || p.process.opened[0].Command[0] != p.path("system/interpreter") {
		t.Errorf("opened %+v", p.process.opened)
	}
}
