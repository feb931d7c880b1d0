package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/tenonhq/tenon/internal/visible"
)

// maxErrorMessage is the maximum length of the message for the user, in bytes; the body contains more.
const maxErrorMessage = 2 << 10

// serverError is the content of an error's body.
type serverError struct {
	code    string
	message string
	status  int // the HTTP status in the body; 0 if it has none
}

// readError reads the error bodies of the common servers:
//
//	{"error": {"message": …, "type": …, "code": …}}     OpenAI and most others
//	{"type": "error", "error": {…}}, {"error": "…"}     Anthropic; LM Studio, xAI
//	[{"error": {…, "status": …}}]                        Google
//	{"message": …, "type": …, "code": …}                 Mistral, vLLM, Cerebras
//	{"detail": "…"}, {"detail": [{"msg": …}]}            servers on FastAPI
//	{"Message": …}                                       AWS, for some refusals
//	{"error": {"metadata": {"raw": "…"}}}                OpenRouter, with another server's body
func readError(body []byte) serverError {
	var v any
	if json.Unmarshal(body, &v) != nil {
		return serverError{message: plainText(body)}
	}
	said := errorValue(v)
	if strings.HasPrefix(said.message, "{") && json.Valid([]byte(said.message)) { // a gateway, such as copilot-api, with another server's body
		inner := readError([]byte(said.message))
		said = serverError{cmp.Or(inner.code, said.code), cmp.Or(inner.message, said.message), cmp.Or(said.status, inner.status)}
	}
	said.message = visible.Cut(said.message, maxErrorMessage, "…")
	return said
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
	said := serverError{message: cmp.Or(Scalar(m["message"]), Scalar(m["msg"]), Scalar(m["Message"]))}
	inner := cmp.Or(m["error"], m["errors"], m["detail"])
	metadata, _ := m["metadata"].(map[string]any)
	if inner != nil {
		outer := said.message
		said = errorValue(inner)
		if name, _ := inner.(string); name != "" && outer != "" && outer != name {
			said.message += ": " + outer // {"error": "Too Many Requests", "message": …}
		}
		said.message = cmp.Or(said.message, outer)
	} else if raw := Scalar(metadata["raw"]); raw != "" {
		said.message += ": " + readError([]byte(raw)).message
	}
	code, status := errorCode(m)
	said.code, said.status = cmp.Or(said.code, code), cmp.Or(said.status, status)
	return said
}

// errorCode returns the name of an error and, if its code is a number, the HTTP status.
func errorCode(m map[string]any) (code string, status int) {
	if n, err := strconv.Atoi(Scalar(m["code"])); err == nil && n >= 400 && n < 600 { // LiteLLM sends it as a text
		status = n
	}
	for _, key := range []string{"code", "type", "status"} {
		if s := Scalar(m[key]); s != "error" && strings.Trim(s, "0123456789") != "" { // "error" is Anthropic's envelope
			return s, status
		}
	}
	return "", status
}

// plainText returns a body that is not JSON as one line. Of a web page, it returns the title, such as "521: Web server is down".
func plainText(body []byte) string {
	if isPage(body) {
		_, body, _ = bytes.Cut(body, []byte("<title>"))
		body, _, _ = bytes.Cut(body, []byte("<"))
	}
	return visible.Cut(strings.Join(strings.Fields(strings.ToValidUTF8(string(body), "")), " "), 300, "…")
}

// Scalar returns a text or a number as text, and "" for every other value.
func Scalar(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case nil, map[string]any, []any, bool:
		return ""
	}
	return fmt.Sprint(v)
}
