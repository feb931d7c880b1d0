package agents_test

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/sdk"
)

// TestSystemPrompt: the names of models select the addition, the first match counts.
func TestSystemPrompt(t *testing.T) {
	t.Parallel()
	p, _ := start(t)
	used := map[string]bool{}
	for id, family := range map[string]string{
		"openai/gpt-4.1": "gpt-4", "openai/o1-pro": "gpt-4", "openrouter/openai/o3-mini": "gpt-4", "azure/GPT-4o": "gpt-4",
		"openai/gpt-6-luna": "gpt-6", "openai/gpt-6.1-codex": "gpt-6", "openai/gpt-5.3-codex": "codex", "openai/gpt-5.5": "gpt", "groq/openai/gpt-oss-120b": "gpt",
		"google/gemini-3.8-flash": "gemini", "amazon-bedrock/anthropic.claude-sonnet-5": "claude", "github-copilot/claude-opus-5-5": "claude",
		"arcee/trinity-large": "trinity", "openrouter/moonshotai/kimi-k2": "kimi", "moonshotai-cn/other": "kimi", "meta/muse-1": "muse",
		"deepseek/deepseek-v4-pro": "", "ollama/qwen3": "", "mistral/foo1": "",
	} {
		provider, model, _ := strings.Cut(id, "/")
		got := p.SystemPrompt(&sdk.Model{ID: model, ProviderID: provider})
		base, addition, _ := strings.Cut(got, "\n\n# With this model\n")
		if !strings.HasPrefix(base, "You are tenon") || len(base) > 2560 || len(addition) > 900 {
			t.Errorf("%s: %d and %d bytes, want at most 2560 and 900", id, len(base), len(addition))
		}
		want := ""
		if family != "" {
			data, err := os.ReadFile("prompts/family/" + family + ".md")
			if err != nil {
				t.Fatal(err)
			}
			want = strings.TrimSpace(strings.TrimPrefix(string(data), "# With this model\n"))
			used[family+".md"] = true
		}
		if addition != want {
			t.Errorf("%s: addition %q, want that of %q", id, addition, family)
		}
	}
	files, err := fs.ReadDir(os.DirFS("prompts/family"), ".")
	if err != nil || len(files) != len(used) {
		t.Errorf("%d files, %d of them used: %v", len(files), len(used), err)
	}
	alias := sdk.Model{ID: "mine", APIID: "claude-sonnet-5", ProviderID: "mine"}
	if got := p.SystemPrompt(&alias); got != p.SystemPrompt(&sdk.Model{ID: "claude-x"}) {
		t.Error("the server's name of the model does not decide")
	}
}
