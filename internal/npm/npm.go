// Package npm translates the names of npm packages to wire formats: opencode's configuration and models.dev use these names for the
// dialects of model servers. Nothing is installed.
package npm

// Usual is the package of servers for which a configuration names none, as in opencode.
const Usual = "@ai-sdk/openai-compatible"

// Formats returns the names of the wire formats.
func Formats() []string {
	return []string{"openai-chat", "openai-responses", "anthropic-messages", "gemini", "bedrock-converse"}
}

// Protocol returns the wire format of the servers that a package is for, or "" for an unknown package.
func Protocol(name string) string {
	switch name {
	case "@ai-sdk/openai", "@ai-sdk/azure", "@ai-sdk/xai", "@ai-sdk/amazon-bedrock/mantle":
		return "openai-responses"
	case "@ai-sdk/anthropic", "@ai-sdk/google-vertex/anthropic":
		return "anthropic-messages"
	case "@ai-sdk/google", "@ai-sdk/google-vertex":
		return "gemini"
	case "@ai-sdk/amazon-bedrock":
		return "bedrock-converse"
	case Usual, "@openrouter/ai-sdk-provider", "@ai-sdk/groq", "@ai-sdk/mistral", "@ai-sdk/togetherai",
		"@ai-sdk/cerebras", "@ai-sdk/deepinfra", "@ai-sdk/perplexity", "@ai-sdk/cohere", "@ai-sdk/vercel", "@ai-sdk/gateway", "@ai-sdk/alibaba",
		"@ai-sdk/github-copilot", "@ai-sdk/deepseek", "@ai-sdk/fireworks", "@ai-sdk/moonshotai", "venice-ai-sdk-provider", "@aihubmix/ai-sdk-provider":
		return "openai-chat"
	}
	return ""
}
