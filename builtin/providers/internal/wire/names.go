package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxName is the maximum length of a tool's name and of a call's ID at OpenAI and Bedrock, which have the lowest limits of
// all servers, see https://platform.openai.com/docs/api-reference/chat/create ("tools") and
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolUseBlock.html.
const maxName = 64

// ToolName returns the name of an earlier call's tool in the form that all servers accept: models call tools that do not exist, too. Names of
// the host's tools do not change.
func ToolName(name string) string {
	if name == "" {
		return "unknown"
	}
	return CallID(name)
}

// CallID returns a call's ID with the characters and the length that all servers accept: IDs of other servers in the same conversation can
// have others. Other characters become underscores, as in opencode; an ID that is too long ends in a hash, so it stays unique.
func CallID(id string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, id)
	return Shorten(clean)
}

// Shorten returns an ID of at most 64 bytes.
func Shorten(id string) string {
	if len(id) <= maxName {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	hash := "_" + hex.EncodeToString(sum[:6])
	return id[:maxName-len(hash)] + hash
}
