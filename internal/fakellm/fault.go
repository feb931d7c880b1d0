package fakellm

import (
	_ "embed"
	"encoding/json"
)

// Status answers with an HTTP status and a body.
func Status(code int, body string) Reply {
	reply := Raw(body).Header("Content-Type", "application/json")
	reply.status = code
	return reply
}

// Error answers with an HTTP status and OpenAI's error body.
func Error(code int, kind, message string) Reply {
	return Status(code, string(encode(fields{"error": fields{"message": message, "type": kind, "param": nil, "code": kind}})))
}

// Never accepts the request and sends nothing, not even headers, until the client goes away.
func Never() Reply {
	return Reply{}.add(func(s *stream) bool { return s.wait(nil, 0) })
}

//go:embed overflows.json
var overflows []byte

// Overflows returns, by the server's name, the answer to a prompt that is longer than the model's context, as quoted in documentation and
// public bug reports.
func Overflows() map[string]Reply {
	var table map[string]struct {
		Status int
		Body   json.RawMessage
	}
	_ = json.Unmarshal(overflows, &table) // the data is part of the program, and tests fail without its rows
	out := map[string]Reply{}
	for name, row := range table {
		out[name] = Status(row.Status, string(row.Body))
	}
	return out
}
