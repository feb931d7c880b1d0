package wire

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadError(t *testing.T) {
	t.Parallel()
	type said struct {
		Code, Message string
		Status        int
	}
	cases := map[string]struct {
		body string
		want said
	}{
		"openai":      {`{"error":{"message":"m","type":"t","code":"c"}}`, said{"c", "m", 0}},
		"type alone":  {`{"error":{"message":"m","type":"t","code":null}}`, said{"t", "m", 0}},
		"number":      {`{"error":{"message":"m","code":503}}`, said{"", "m", 503}},
		"anthropic":   {`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, said{"overloaded_error", "Overloaded", 0}},
		"google":      {`[{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT"}}]`, said{"INVALID_ARGUMENT", "m", 400}},
		"text":        {`{"error":"m"}`, said{"", "m", 0}},
		"xai":         {`{"code":"bad argument","error":"m"}`, said{"bad argument", "m", 0}},
		"flat":        {`{"object":"error","message":"m","type":"t","code":"3051"}`, said{"t", "m", 0}},
		"aws":         {`{"Message":"m"}`, said{"", "m", 0}},
		"detail":      {`{"detail":[{"loc":["body"],"msg":"field required","type":"missing"}]}`, said{"missing", "field required", 0}},
		"openrouter":  {`{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"{\"error\":{\"message\":\"too many\"}}"}}}`, said{"", "Provider returned error: too many", 429}},
		"text code":   {`{"error":{"message":"m","type":"None","code":"401"}}`, said{"None", "m", 401}},
		"in a text":   {`{"error":{"message":"{\"error\":{\"message\":\"m\",\"code\":\"c\"}}\n","type":"error"}}`, said{"c", "m", 0}},
		"only true":   {`{"error":true,"message":"m"}`, said{"", "m", 0}},
		"title":       {`{"statusCode":429,"error":"Too Many Requests","message":"m"}`, said{"", "Too Many Requests: m", 0}},
		"empty name":  {`{"statusCode":429,"error":"","message":"m"}`, said{"", "m", 0}},
		"same twice":  {`{"statusCode":429,"error":"m","message":"m"}`, said{"", "m", 0}},
		"wrapped":     {`{"error":{"code":"c"},"message":"m"}`, said{"c", "m", 0}},
		"plain":       {"  too \n many  ", said{"", "too many", 0}},
		"page":        {"\ufeff\n<html>x</html>", said{}},
		"page title":  {"<!DOCTYPE html>\n<html><head><title>\n521: Web server is down</title></head></html>", said{"", "521: Web server is down", 0}},
		"empty":       {"", said{}},
		"list":        {"[]", said{}},
		"number body": {"7", said{}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got said
			e := readError([]byte(c.body))
			got.Code, got.Message, got.Status = e.code, e.message, e.status
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// FuzzReadError: any body gives a message that can be shown.
func FuzzReadError(f *testing.F) {
	for _, s := range []string{`{"error":{"message":"m"}}`, `[{"error":"x"}]`, `{"detail":[{"msg":1}]}`, "plain", "<html>", `{"error":{"metadata":{"raw":"{}"}}}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		e := readError([]byte(body))
		message, status := e.message, e.status
		if len(message) > 4<<10 || (status != 0 && (status < 400 || status > 599)) {
			t.Errorf("message of %d bytes, status %d", len(message), status)
		}
	})
}
