package input

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/mail"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/schemacost"
	"github.com/tenonhq/tenon/internal/toolschema"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// maxFields is the maximum number of fields, so that a server cannot keep the user busy.
	maxFields = 20
	// maxChoices is the maximum number of choices of a field, and of defaults among them.
	maxChoices = 1000
	// maxHeader is the maximum length of a question's header.
	maxHeader = 30
	// formTries is the number of attempts for a form with invalid answers.
	formTries = 10
)

// form is a server's request for input: a flat object of simple values.
type form []*field

// field is one value of a form. Its schema decides which values are valid; the members here are for the question.
type field struct {
	name        string
	required    bool
	schema      *schemacost.Schema
	Type        string   `json:"type"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Format      string   `json:"format"`
	EnumNames   []string `json:"enumNames"`
	values
	Items   values `json:"items"` // for multiple choices
	Default any    `json:"default"`

	answer  []string // the last answer
	problem string   // why it is invalid
}

// values lists valid values in one of several forms.
type values struct {
	Enum  []any    `json:"enum"`
	OneOf []choice `json:"oneOf"`
	AnyOf []choice `json:"anyOf"`
}

// choice is a valid value of a field, and its label.
type choice struct {
	Const any    `json:"const"`
	Title string `json:"title"`
}

// readForm reads the schema of a form. The fields keep the order of the schema.
func readForm(schema json.RawMessage) (form, error) {
	var s struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, fmt.Errorf("invalid form: %w", err)
	}
	if len(s.Properties) > 0 && !jsontext.IsObject(s.Properties) {
		return nil, errors.New("invalid form: properties: want an object")
	}
	var f form
	var problem error
	jsontext.EachField(s.Properties, func(key, schema []byte) bool {
		one := &field{name: jsontext.Name(key)}
		one.required = slices.Contains(s.Required, one.name)
		if problem = one.define(schema); problem == nil && len(f) == maxFields {
			problem = fmt.Errorf("want at most %d fields", maxFields)
		}
		if problem != nil {
			problem = fmt.Errorf("field %q of the form: %w", one.name, problem)
		}
		f = append(f, one)
		return problem == nil
	})
	return f, problem
}

// define sets the schema of a field.
func (f *field) define(schema []byte) error {
	if err := json.Unmarshal(schema, f); err != nil {
		return err
	}
	if f.Type == "" { // version 1 of the official SDK for Python puts the schema of an optional value next to that of null
		var members []json.RawMessage
		_ = json.Unmarshal(jsontext.Field(schema, "anyOf"), &members)
		for _, member := range members {
			if kind := jsontext.StringField(member, "type"); kind != "" && kind != "null" {
				return f.define(member)
			}
		}
	}
	if !slices.Contains([]string{"string", "number", "integer", "boolean", "array"}, f.Type) {
		return fmt.Errorf("unsupported type %q", f.Type)
	}
	if defaults, _ := f.Default.([]any); max(len(defaults), len(f.choices())) > maxChoices {
		return fmt.Errorf("want at most %d choices", maxChoices)
	}
	var err error
	if f.schema, err = toolschema.Resolve(schema); err == nil {
		f.schema.Schema().MultipleOf = nil // the server checks it: as binary fractions, 0.07 does not divide by 0.01
	}
	return err
}

// fill asks until the answers are valid; a form without fields only asks for a confirmation, after a visit to link. A nil map means that the
// user declined.
func (f form) fill(ask func([]sdk.Question) ([][]string, error), message string, link *sdk.FormField) (map[string]any, error) {
	if len(f) == 0 {
		answers, err := ask([]sdk.Question{{
			Question: message, Header: "Confirm", Custom: new(bool), Options: []sdk.QuestionOption{{Label: "Yes"}, {Label: "No"}}, Form: link,
		}})
		if err != nil || len(answers) != 1 || !slices.Equal(answers[0], []string{"Yes"}) {
			return nil, err
		}
		return map[string]any{}, nil
	}
	content := map[string]any{}
	for range formTries {
		questions := make([]sdk.Question, len(f))
		for i, one := range f {
			questions[i] = one.question(message)
		}
		answers, err := ask(questions)
		if err != nil || answers != nil && len(answers) == 0 {
			return nil, err
		}
		var invalid form // the user corrects these fields only
		for i, one := range f {
			one.answer = nil
			if i < len(answers) {
				one.answer = answers[i]
			}
			value, err := one.read()
			if err != nil {
				one.problem = err.Error()
				invalid = append(invalid, one)
			} else if value != nil {
				content[one.name] = value
			}
		}
		if f = invalid; len(f) == 0 {
			return content, nil
		}
	}
	return nil, nil
}

// read returns the value of the last answer; nil if the field stays empty. No answer selects the default; an empty text selects no value.
func (f *field) read() (any, error) {
	given := slices.DeleteFunc(slices.Clone(f.answer), func(s string) bool { return s == "" })
	switch {
	case len(f.answer) == 0 && f.Default != nil:
		return f.Default, nil
	case len(given) == 0 && f.required:
		return nil, errors.New("a value is required")
	case len(given) == 0:
		return nil, nil
	}
	all := make([]any, len(given))
	for i, text := range given {
		var err error
		if all[i], err = f.value(text); err != nil {
			return nil, err
		}
	}
	var value any = all
	if f.Type != "array" {
		value = all[0]
	}
	if err := f.schema.Validate(value); err != nil {
		return nil, f.objection(given[0], strings.TrimPrefix(err.Error(), "validating root: "))
	}
	return value, nil
}

// objection returns the error for an answer that the schema does not allow. text is the validator's error, which begins with a keyword
// of the schema.
func (f *field) objection(answer, text string) error {
	schema := f.schema.Schema()
	switch keyword, _, _ := strings.Cut(text, ":"); keyword {
	case "type", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		if note := f.note(); note != "" {
			return fmt.Errorf("%q is not %s", answer, note)
		}
	case "minLength":
		return fmt.Errorf("want at least %d characters", *schema.MinLength)
	case "maxLength":
		return fmt.Errorf("want at most %d characters", *schema.MaxLength)
	case "minItems":
		return fmt.Errorf("choose at least %d", *schema.MinItems)
	case "maxItems":
		return fmt.Errorf("choose at most %d", *schema.MaxItems)
	}
	return errors.New(visible.Bound(text, 500))
}

// value returns the value that a label or a text stands for.
func (f *field) value(text string) (value any, err error) {
	choices := f.choices()
	if len(choices) > 0 {
		at := slices.IndexFunc(choices, func(c choice) bool { return c.Title == text })
		if at < 0 {
			return nil, fmt.Errorf("%q is not one of the choices", text)
		}
		return choices[at].Const, nil
	}
	if f.Type != "number" && f.Type != "integer" {
		return text, f.checkFormat(text)
	}
	if whole, err := strconv.ParseInt(text, 10, 64); err == nil {
		return whole, nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return nil, fmt.Errorf("%q is not a number", text)
	}
	return n, nil
}

func (f *field) checkFormat(text string) (err error) {
	switch f.Format {
	case "email":
		_, err = mail.ParseAddress(text)
	case "uri":
		var u *url.URL
		if u, err = url.Parse(text); err == nil && u.Scheme == "" {
			err = errors.New("want an absolute URL")
		}
	case "date":
		_, err = time.Parse(time.DateOnly, text)
	case "date-time":
		_, err = time.Parse(time.RFC3339, text)
	}
	if err != nil {
		return fmt.Errorf("%q is not a valid %s", text, f.Format)
	}
	return nil
}

func (f *field) label() string { return visible.Bound(cmp.Or(f.Title, f.name), 100) }

// note describes a field's valid values.
func (f *field) note() string {
	kind := map[string]string{"number": "a number", "integer": "an integer"}[f.Type]
	if f.Format != "" {
		kind = visible.Bound(f.Format, 100)
	}
	schema := f.schema.Schema()
	for _, limit := range []struct {
		words string
		value *float64
	}{{" from ", schema.Minimum}, {" above ", schema.ExclusiveMinimum}, {" up to ", schema.Maximum}, {" below ", schema.ExclusiveMaximum}} {
		if limit.value != nil {
			kind += limit.words + plain(*limit.value)
		}
	}
	return strings.TrimSpace(kind)
}

func (f *field) question(message string) sdk.Question {
	text, note := message+"\n"+f.label(), strings.Trim(visible.Bound(f.Description, 500)+" · "+f.note(), "· ")
	if note != "" {
		text += ": " + note
	}
	if f.problem != "" {
		text += "\n(" + f.problem + ")"
	}
	header := []rune(f.label())
	q := sdk.Question{
		Question: text, Header: string(header[:min(len(header), maxHeader)]), Multiple: f.Type == "array", Options: []sdk.QuestionOption{},
		Optional: !f.required, Default: f.preset(),
		Form: &sdk.FormField{Message: message, Label: f.label(), Note: note, Problem: f.problem, Answer: f.answer},
	}
	for _, c := range f.choices() {
		q.Options = append(q.Options, sdk.QuestionOption{Label: c.Title})
	}
	q.Custom = new(len(q.Options) == 0)
	return q
}

// preset returns the default of a field as an answer, or nil if it has none.
func (f *field) preset() []string {
	all, several := f.Default.([]any)
	if !several && f.Default != nil {
		all = []any{f.Default}
	}
	var out []string
	choices := f.choices()
	for _, v := range all {
		label := visible.Bound(plain(v), 200)
		for _, c := range choices {
			if reflect.DeepEqual(c.Const, v) {
				label = c.Title
			}
		}
		out = append(out, label)
	}
	return out
}

// choices returns the valid values of a field with labels, or nil if the user enters a text.
func (f *field) choices() []choice {
	if f.Type == "boolean" {
		return []choice{{true, "Yes"}, {false, "No"}}
	}
	var out []choice
	for i, v := range slices.Concat(f.Enum, f.Items.Enum) {
		c := choice{Const: v}
		if i < len(f.EnumNames) {
			c.Title = f.EnumNames[i]
		}
		out = append(out, c)
	}
	listed := slices.Concat(f.OneOf, f.AnyOf, f.Items.OneOf, f.Items.AnyOf)
	out = append(out, slices.DeleteFunc(listed, func(c choice) bool { return c.Const == nil })...) // such as formats of a text
	for i, c := range out {
		out[i].Title = visible.Bound(cmp.Or(c.Title, plain(c.Const)), 200)
	}
	return out
}

// plain returns a value as text. It writes numbers without an exponent, because integers must not have one.
func plain(v any) string {
	if n, ok := v.(float64); ok {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}
