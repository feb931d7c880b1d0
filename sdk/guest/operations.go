package guest

import "github.com/tenonhq/tenon/sdk"

// Requests and answers of the host's operations that are not types of sdk, for both sides of the wire. docs/abilities.md lists the operations.
type (
	// KVKey is the request of kv.get and kv.delete.
	KVKey struct {
		Key string `json:"key"`
	}
	// KVSet is the request of kv.set.
	KVSet struct {
		Key   string    `json:"key"`
		Value sdk.Bytes `json:"value"`
	}
	// KVPrefix is the request of kv.keys.
	KVPrefix struct {
		Prefix string `json:"prefix"`
	}
	// KVValue is the answer of kv.get.
	KVValue struct {
		Found bool      `json:"found"`
		Value sdk.Bytes `json:"value"`
	}
	// KVKeys is the answer of kv.keys.
	KVKeys struct {
		Keys []string `json:"keys"`
	}
	// SecretRequest is the request of secret.
	SecretRequest struct {
		Name string `json:"name"`
	}
	// SecretValue is the answer of secret.
	SecretValue struct {
		Value string `json:"value"`
	}
	// SessionRequest is the request of session. If SessionID is empty, it is the session of the call.
	SessionRequest struct {
		SessionID string `json:"sessionID,omitempty"`
	}
	// SessionMessages is the answer of session.
	SessionMessages struct {
		Messages []sdk.MessageWithParts `json:"messages"`
	}
	// QuestionRequest is the request of question. If SessionID is empty, it is the session of the call.
	QuestionRequest struct {
		SessionID string         `json:"sessionID,omitempty"`
		Questions []sdk.Question `json:"questions"`
	}
	// QuestionAnswers is the answer of question.
	QuestionAnswers struct {
		Answers [][]string `json:"answers"`
	}
	// StreamRef is the request of http.read and http.close.
	StreamRef struct {
		Stream int64 `json:"stream"`
	}
	// StreamChunk is the answer of http.read.
	StreamChunk struct {
		Data sdk.Bytes `json:"data"`
		End  bool      `json:"end"` // nothing follows
	}
	// ProgressRequest is the request of progress.
	ProgressRequest struct {
		Title    string     `json:"title"`
		Metadata sdk.Object `json:"metadata,omitempty"`
	}
)
