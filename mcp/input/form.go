package input

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

const (
	// maxFields is the maximum number of fields, so that a server cannot keep the user busy.
	maxFields = 20
	// maxHeader is the maximum length of a question's header.
	maxHeader = 30
	// formTries is the number of attempts for a form with invalid answers.
	formTries = 10
)

// form is a server's request for input: a flat object of simple values.
type form []field

// field is one value of a form.
type field struct {
	name        string
	Type        string    `json:"type"`
	Title       string    `json:"title"`
	Description string    `json:"description"`
	Format      string    `json:"format"`
	Enum        []string  `json:"enum"`
	EnumNames   []string  `json:"enumNames"`
	OneOf       []choice  `json:"oneOf"`
	Items       *struct { // for multiple choices
		Enum  []string `json:"enum"`
		AnyOf []choice `json:"anyOf"`
	} `json:"items"`
	Default   any      `json:"default"`
	MinLength *int     `json:"minLength"`
	MaxLength *int     `json:"maxLength"`
	Minimum   *float64 `json:"minimum"`
	Maximum   *float64 `json:"maximum"`
	MinItems  *int     `json:"minItems"`
	MaxItems  *int     `json:"maxItems"`
	required  bool

	answer  []string // the last one
	problem string   // why it is invalid
}

// choice is an allowed value of a field, and its label.
type choice struct {
	Const string `json:"const"`
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
		one := field{name: jsontext.Name(key)}
		one.required = slices.Contains(s.Required, one.name)
		if problem = f.add(one, schema); problem != nil {
			problem = fmt.Errorf("field %q of the form: %w", one.name, problem)
		}
		return problem == nil
	})
	return f, problem
}

// add adds a field with a schema.
func (f *form) add(one field, schema []byte) error {
	err := json.Unmarshal(schema, &one)
	switch {
	case err != nil:
		return err
	case slices.ContainsFunc(*f, func(o field) bool { return o.name == one.name }):
		return errors.New("duplicate name")
	case len(*f) == maxFields:
		return fmt.Errorf("want at most %d fields", maxFields)
	case one.Type == "array" && one.Items == nil:
		return errors.New("missing choices")
	case !slices.Contains([]string{"string", "number", "integer", "boolean", "array"}, one.Type):
		return fmt.Errorf("unsupported type %q", one.Type)
	}
	*f = append(*f, one)
	return nil
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
	hint := ""
	for range formTries {
		questions := make([]sdk.Question, len(f))
		for i := range f {
			questions[i] = f[i].question(message, hint)
		}
		answers, err := ask(questions)
		if err != nil || answers != nil && len(answers) == 0 {
			return nil, err
		}
		content := map[string]any{}
		hint = ""
		for i := range f {
			one := &f[i]
			one.answer, one.problem = nil, ""
			if i < len(answers) {
				one.answer = answers[i]
			}
			if err := one.read(content); err != nil {
				one.problem = err.Error()
				hint = cmp.Or(hint, "\n("+one.label()+": "+one.problem+")")
			}
		}
		if hint == "" {
			return content, nil
		}
	}
	return nil, nil
}

// read adds the value of the answer to the content. An empty answer means the default, an empty text no value.
func (f *field) read(content map[string]any) error {
	given := slices.DeleteFunc(slices.Clone(f.answer), func(s string) bool { return s == "" })
	switch {
	case len(given) > 0:
		value, err := f.value(given)
		if err == nil {
			content[f.name] = value
		}
		return err
	case f.Default != nil && len(f.answer) == 0:
		content[f.name] = f.Default
	case f.required:
		return errors.New("a value is required")
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
	if f.Minimum != nil {
		kind += " from " + decimal(*f.Minimum)
	}
	if f.Maximum != nil {
		kind += " up to " + decimal(*f.Maximum)
	}
	return strings.TrimSpace(kind)
}

func (f *field) question(message, hint string) sdk.Question {
	text, note, description := message+hint+"\n"+f.label(), f.note(), visible.Bound(f.Description, 500)
	if description != "" {
		text += ": " + description
		note = strings.TrimSuffix(description+" · "+note, " · ")
	}
	header := []rune(f.label())
	q := sdk.Question{
		Question: text, Header: string(header[:min(len(header), maxHeader)]), Multiple: f.Type == "array", Options: []sdk.QuestionOption{},
		Optional: !f.required, Default: f.given(),
		Form: &sdk.FormField{Message: message, Label: f.label(), Note: note, Problem: f.problem, Answer: f.answer},
	}
	for _, c := range f.choices() {
		q.Options = append(q.Options, sdk.QuestionOption{Label: c.Title})
	}
	q.Custom = new(len(q.Options) == 0)
	return q
}

// given returns the default of a field as an answer; none if it has none.
func (f *field) given() []string {
	values, several := f.Default.([]any)
	if !several && f.Default != nil {
		values = []any{f.Default}
	}
	var out []string
	for _, v := range values {
		text := fmt.Sprint(v)
		if n, ok := v.(float64); ok {
			text = decimal(n)
		}
		for _, c := range f.choices() {
			if c.Const == text {
				text = c.Title
			}
		}
		out = append(out, visible.Bound(text, 200))
	}
	return out
}

// choices returns the allowed values of a field; none if any value is allowed.
func (f *field) choices() []choice {
	list, values := f.OneOf, f.Enum
	if f.Items != nil {
		list, values = f.Items.AnyOf, f.Items.Enum
	}
	var out []choice
	for i, v := range values {
		c := choice{v, v}
		if i < len(f.EnumNames) {
			c.Title = f.EnumNames[i]
		}
		out = append(out, c)
	}
	for _, c := range list {
		c.Title = cmp.Or(c.Title, c.Const)
		out = append(out, c)
	}
	if f.Type == "boolean" {
		out = []choice{{"true", "Yes"}, {"false", "No"}}
	}
	for i := range out {
		out[i].Title = visible.Bound(out[i].Title, 200)
	}
	return out
}

// value parses an answer.
func (f *field) value(given []string) (any, error) {
	choices := f.choices()
	for i, g := range given {
		at := slices.IndexFunc(choices, func(c choice) bool { return c.Title == g })
		switch {
		case at >= 0:
			given[i] = choices[at].Const
		case len(choices) > 0:
			return nil, fmt.Errorf("%q is not one of the choices", g)
		}
	}
	switch f.Type {
	case "array":
		return given, within(len(given), f.MinItems, f.MaxItems, "choose at least %d", "choose at most %d")
	case "boolean":
		return given[0] == "true", nil
	case "number", "integer":
		return f.number(given[0])
	}
	return given[0], f.checkText(given[0])
}

// within returns an error with one of the texts for a number outside the limits that are set.
func within(n int, least, most *int, few, many string) error {
	switch {
	case least != nil && n < *least:
		return fmt.Errorf(few, *least)
	case most != nil && n > *most:
		return fmt.Errorf(many, *most)
	}
	return nil
}

func (f *field) number(text string) (any, error) {
	n, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || math.IsNaN(n) || math.IsInf(n, 0):
		return nil, fmt.Errorf("%q is not a number", text)
	case f.Minimum != nil && n < *f.Minimum:
		return nil, fmt.Errorf("%s is less than %s", text, decimal(*f.Minimum))
	case f.Maximum != nil && n > *f.Maximum:
		return nil, fmt.Errorf("%s is more than %s", text, decimal(*f.Maximum))
	case f.Type == "integer":
		whole, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not an integer", text)
		}
		return whole, nil
	}
	return n, nil
}

// decimal writes a number without an exponent, which no integer has.
func decimal(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

func (f *field) checkText(text string) error {
	err := within(utf8.RuneCountInString(text), f.MinLength, f.MaxLength, "want at least %d characters", "want at most %d characters")
	if err != nil {
		return err
	}
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
