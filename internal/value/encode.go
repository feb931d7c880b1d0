package value

import "github.com/tenonhq/tenon/internal/jsontext"

// AppendAnswer appends the JSON of an answer to out. It does not escape HTML characters.
// Otherwise it is the JSON of json.Marshal.
func AppendAnswer[C change](out []byte, answer []C, verdict, reason, message string) []byte {
	changes := as[Change](answer)
	out = append(out, '{')
	if len(changes) > 0 {
		out = append(out, `"changes":[`...)
		for i := range changes {
			if i > 0 {
				out = append(out, ',')
			}
			out = changes[i].appendJSON(out)
		}
		out = append(out, ']')
	}
	out = appendMember(out, `"verdict":`, verdict)
	out = appendMember(out, `"reason":`, reason)
	out = appendMember(out, `"message":`, message)
	return append(out, '}')
}

func (c *Change) appendJSON(out []byte) []byte {
	out = jsontext.AppendString(append(out, `{"pointer":`...), c.Pointer)
	if len(c.Value) > 0 {
		out = append(append(out, `,"value":`...), c.Value...)
	}
	if c.Remove {
		out = append(out, `,"remove":true`...)
	}
	return append(out, '}')
}

// appendMember appends a member of an object unless the text is empty. name includes quotes and colon.
func appendMember(out []byte, name, text string) []byte {
	if text == "" {
		return out
	}
	if out[len(out)-1] != '{' {
		out = append(out, ',')
	}
	return jsontext.AppendString(append(out, name...), text)
}
