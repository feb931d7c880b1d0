package openai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/internal/visible"
)

// maxErrorMessage bounds the message shown to the user, in bytes; the body keeps more.
const maxErrorMessage = 2 << 10

// serverError is what the body of an error says.
type serverError struct {
	code    string
	message string
	status  int // the HTTP status the body names; 0 when it names none
}

// readError understands the bodies of the servers people use:
//
//	{"error": {"message": …, "type": …, "code": …}}     OpenAI and most others
//	{"type": "error", "error": {…}}, {"error": "…"}     Anthropic; LM Studio, xAI
//	[{"error": {…, "status": …}}]                        Google
//	{"message": …, "type": …, "code": …}                 Mistral, vLLM, Cerebras
//	{"detail": "…"}, {"detail": [{"msg": …}]}            servers on FastAPI
//	{"error": {"metadata": {"raw": "…"}}}                OpenRouter, passing on another server's body
func readError(body []byte) serverError {
	var v any
	if json.Unmarshal(body, &v) != nil {
		return serverError{message: plainText(string(body))}
	}
	out := errorValue(v)
	out.message = visible.Cut(out.message, maxErrorMessage, "…")
	return out
}

func errorValue(v any) serverError {
	switch v := v.(type) {
	case string:
		return serverError{message: v}
	case []any:
		if len(v) > 0 {
			return errorValue(v[0])
		}
	case map[string]any:
		return errorObject(v)
	}
	return serverError{}
}

func errorObject(m map[string]any) serverError {
	for _, key := range []string{"error", "errors", "detail"} {
		if inner, ok := m[key]; ok && inner != nil {
			out := errorValue(inner)
			code, status := errorCode(m)
			out.code = cmp.Or(out.code, code)
			out.status = cmp.Or(out.status, status)
			return out
		}
	}
	out := serverError{message: text(m["message"])}
	if out.message == "" {
		out.message = text(m["msg"])
	}
	out.code, out.status = errorCode(m)
	if metadata, _ := m["metadata"].(map[string]any); metadata != nil {
		if raw := text(metadata["raw"]); raw != "" {
			inner := readError([]byte(raw))
			out.message += ": " + inner.message
		}
	}
	return out
}

// errorCode finds the name of an error; a number is the HTTP status.
func errorCode(m map[string]any) (code string, status int) {
	if n, ok := m["code"].(float64); ok && n >= 400 && n < 600 {
		status = int(n)
	}
	for _, key := range []string{"code", "type", "status"} {
		s := text(m[key])
		if s == "error" {
			continue // Anthropic's envelope
		}
		if s != "" && strings.Trim(s, "0123456789") != "" {
			return s, status
		}
	}
	return "", status
}

// plainText makes one line of a body that is not JSON; a web page says nothing to the user.
func plainText(body string) string {
	body = strings.Join(strings.Fields(strings.ToValidUTF8(body, "")), " ")
	if strings.HasPrefix(body, "<") {
		return ""
	}
	return visible.Cut(body, 300, "…")
}

func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case nil, map[string]any, []any, bool:
		return ""
	}
	return fmt.Sprint(v)
}
