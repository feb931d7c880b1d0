package signin

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/sdk"
)

// cliArgument makes the test's program the Azure CLI: it prints a token for the scope, or fails.
const cliArgument = "as-azure-cli"

// azureCLI is what the test's program does as the CLI.
func azureCLI(args []string) int {
	line := strings.Join(args, " ")
	if args[0] != "account" || !strings.HasSuffix(line, "--output json") {
		fmt.Fprintln(os.Stderr, "ERROR: unexpected: "+line)
		return 2
	}
	if dir, err := os.Getwd(); err != nil || filepath.Dir(dir) != dir || runtime.GOOS != "windows" && os.Getenv("PWD") != dir {
		fmt.Fprintln(os.Stderr, "ERROR: the working directory is "+dir+", PWD "+os.Getenv("PWD"))
		return 3
	}
	if strings.Contains(line, "ai.azure.com") {
		fmt.Fprintln(os.Stderr, "ERROR: Please run 'az login'\x1b[31m to setup account.")
		return 1
	}
	fmt.Printf(`{"accessToken": "entra for %s", "expires_on": 1764000000, "expiresOn": "x", "tokenType": "Bearer"}`, args[3])
	return 0
}

func TestAzure(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	a := azure{command: []string{self, cliArgument}}
	u := &user{}
	token, err := a.login(t.Context(), sdk.Object{}, u)
	if err != nil || token.Access != "entra for "+scopeCognitive || token.Expires != 1764000000_000 || len(u.notices) != 1 {
		t.Errorf("login() = %+v, %v, notices %q", token, err, u.notices)
	}
	if token, err := a.refresh(t.Context(), sdk.Object{}, token); err != nil || token.Access == "" {
		t.Errorf("refresh() = %+v, %v", token, err)
	}
	_, err = a.login(t.Context(), sdk.Object{"baseURL": "https://r.services.ai.azure.com/openai/v1"}, u)
	if err == nil || !strings.Contains(err.Error(), "Please run 'az login'") || !strings.Contains(err.Error(), "run: az login") || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("a failure = %v, want the CLI's error without escape sequences", err)
	}
	missing := azure{command: []string{"tenon-no-such-program"}}
	if _, err := missing.login(t.Context(), nil, u); err == nil || !strings.Contains(err.Error(), "not installed") {
		t.Errorf("without the CLI = %v", err)
	}
	for base, want := range map[string]string{
		"": scopeCognitive, "https://r.openai.azure.com/openai": scopeCognitive, "https://R.Services.AI.Azure.com/openai/v1": scopeFoundry,
		"https://r.services.ai.azure.com/models": scopeCognitive, "https://services.ai.azure.com.evil.example": scopeCognitive,
	} {
		if got := azureScope(base); got != want {
			t.Errorf("scope for %q = %s, want %s", base, got, want)
		}
	}
}

// TestAzureServes: the token goes to the other services of the resource, and to no other server.
func TestAzureServes(t *testing.T) {
	t.Parallel()
	named := sdk.ProviderInfo{Options: sdk.Object{"resourceName": "Mine"}}
	addressed := sdk.ProviderInfo{BaseURL: "https://mine.openai.azure.com/openai"}
	for address, want := range map[string]bool{
		"https://mine.services.ai.azure.com/anthropic/v1": true, "https://MINE.cognitiveservices.azure.com/openai": true,
		"https://other.services.ai.azure.com/anthropic/v1": false, "http://mine.services.ai.azure.com/anthropic/v1": false,
		"https://mine.services.ai.azure.com.evil.example": false, "https://mine.services.ai.azure.com:8443/x": false, "https://mine.evil.example": false,
		"https://${AZURE_RESOURCE_NAME}.services.ai.azure.com": false, "": false, "https://services.ai.azure.com": false,
	} {
		for _, info := range []*sdk.ProviderInfo{&named, &addressed} {
			if got := azureServes(info, address); got != want {
				t.Errorf("azureServes(%+v, %q) = %v, want %v", info, address, got, want)
			}
		}
		if azureServes(&sdk.ProviderInfo{}, address) {
			t.Errorf("a provider without a resource sends its token to %q", address)
		}
	}
}

func FuzzAzureToken(f *testing.F) {
	f.Add([]byte(`{"accessToken": "a", "expires_on": 1}`))
	f.Fuzz(func(t *testing.T, answer []byte) {
		if token, err := azureToken(answer); (err == nil) != (token != nil && token.Access != "") {
			t.Errorf("azureToken() = %+v, %v", token, err)
		}
	})
}
