package value

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tenonhq/tenon/internal/jsontext"
)

// maxArgumentValues is the maximum number of values in the arguments of a tool call, more than the tokens that a model writes in an answer.
const maxArgumentValues = 1 << 17

// CheckArguments returns an error if the arguments of a tool call are not a JSON object, have more than maxArgumentValues, are nested deeper
// than MaxAnswerDepth, which ends plugins whose decoders have a limit, or if an object in them has a name twice: decoders differ in which
// value they use, so a gate could judge a different call than the tool runs.
func CheckArguments(raw []byte) error {
	var object *struct{} // checked, not copied
	err := json.Unmarshal(raw, &object)
	if _, other := errors.AsType[*json.UnmarshalTypeError](err); other || err == nil && object == nil {
		return errors.New("want an object")
	}
	if err != nil {
		return fmt.Errorf("not valid JSON (%w)", err)
	}
	if Crowded(raw, maxArgumentValues) {
		return fmt.Errorf("more than %d values", maxArgumentValues)
	}
	if jsontext.Deeper(raw, MaxAnswerDepth) {
		return fmt.Errorf("nested deeper than %d levels", MaxAnswerDepth)
	}
	if name, found := jsontext.Repeated(raw); found {
		return fmt.Errorf("duplicate name %q", name)
	}
	return nil
}
