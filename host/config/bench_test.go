package config_test

import (
	"fmt"
	"testing"

	"github.com/tenonhq/tenon/host/config"
)

const userConfig = `{
  // where the keys live
  "model": "local/qwen3", "small_model": "local/qwen3-mini", "logLevel": "warn",
  "provider": {
    "local": {
      "name": "Local", "protocol": "openai-chat",
      "options": {"baseURL": "http://127.0.0.1:8080/v1", "apiKey": "{env:LOCAL_API_KEY}", "headers": {"X-Team": "a"}},
      "models": {
        "qwen3": {"name": "Qwen 3", "limit": {"context": 131072, "output": 8192}, "cost": {"input": 0.1, "output": 0.4}, "reasoning": true},
        "qwen3-mini": {"name": "Qwen 3 mini", "limit": {"context": 32768, "output": 4096}},
      },
    },
  },
  "mcp": {"files": {"type": "local", "command": ["mcp-files", "--root", "."], "environment": {"TOKEN": "{env:FILES_TOKEN}"}, "timeout": 10000}},
  "permission": {"*": "ask", "read": "allow", "bash": {"git status": "allow", "git push*": "deny", "rm *": "deny"}},
  "compaction": {"auto": true, "reserved": 20000},
}
`

const projectConfig = `{
  "$schema": "https://example.com/config.json",
  "instructions": ["CONTRIBUTING.md", "docs/*.md"],
  "agent": {
    "review": {"description": "Reads changes", "mode": "subagent", "prompt": "You review.", "permission": {"edit": "deny", "bash": {"*": "deny", "git diff*": "allow"}}},
    "build": {"temperature": 0.2, "steps": 50},
  },
  "command": {"test": {"template": "Run the tests and fix what fails: $ARGUMENTS", "description": "Run tests"}},
  "permission": {"edit": {"*": "ask", "docs/**": "allow"}, "webfetch": "deny"},
  "plugins": [["./tools/guard", {"level": "high"}], "redact"],
}
`

func BenchmarkLoad(b *testing.B) {
	environ := []string{"LOCAL_API_KEY=sk-local-0123456789", "FILES_TOKEN=token-0123456789"}
	for i := range 60 { // about what a shell has
		environ = append(environ, fmt.Sprintf("VARIABLE_%d=some value of usual length", i))
	}
	for name, files := range map[string]map[string]string{
		"none": nil,
		"two":  {userFile: userConfig, outerFile: projectConfig},
	} {
		b.Run("files="+name, func(b *testing.B) {
			p := newPlace(b, files)
			p.opts.Environ = environ
			b.ReportAllocs()
			for b.Loop() {
				if _, err := config.Load(b.Context(), p.opts); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
