package manifest_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/plugins/manifest"
	"github.com/tenonhq/tenon/sdk"
)

// TestDocumentation reads the plugin.json of docs/plugins.md, and looks for every field and capability on that page.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/plugins.md")
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, block := range regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		if !strings.Contains(block[1], manifest.PluginSchema) {
			continue
		}
		found = true
		p, err := manifest.Read(files{"plugin.json": block[1], "redact.wasm": ""}.write(t))
		if err != nil || len(p.Warnings) > 0 {
			t.Errorf("%v, warnings %q", err, p.Warnings)
		}
	}
	if !found {
		t.Error("the page has no plugin.json")
	}
	for _, word := range []string{
		"runtime", "build", "hooks", "tools", "capabilities", "options", "providers", "protocols", "agents", "commands",
		"module", "memory", "state", "command", "platforms", "point", "reads", "writes", "priority", "before", "after", "onError", "timeout",
		"id", "description", "parameters", "permission", "prepares", "scope", "reason",
		sdk.CapabilityHTTP, sdk.CapabilityKV, sdk.CapabilitySecret, sdk.CapabilityConfig, sdk.CapabilityTool, sdk.CapabilitySession, sdk.CapabilityAsk,
		sdk.CapabilityEvents, sdk.CapabilityModel, sdk.CapabilityEnv, sdk.CapabilityRead, sdk.CapabilityWrite, sdk.CapabilityClock,
	} {
		if !strings.Contains(string(page), "`"+word+"`") && !strings.Contains(string(page), ", "+word+"}") && !strings.Contains(string(page), " "+word+",") {
			t.Errorf("the page does not mention %s", word)
		}
	}
}
