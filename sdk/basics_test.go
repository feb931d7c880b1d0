package sdk_test

import (
	"encoding/json"
	"testing"

	"github.com/tenonhq/tenon/sdk"
)

func encode(t testing.TB, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("encode %T: %v", v, err)
	}
	return string(raw)
}

// The status of a response that began well says nothing about an error within it.
func TestProviderErrorStatus(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{200: "provider p: broke", 503: "provider p: broke (status 503)", 0: "provider p: broke"} {
		if got := (&sdk.ProviderError{ProviderID: "p", StatusCode: status, Message: "broke"}).Error(); got != want {
			t.Errorf("status %d: %q, want %q", status, got, want)
		}
	}
}

func TestUSD(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		want sdk.USD
		out  string
	}{
		"0":                    {0, "0"},
		"-0":                   {0, "0"},
		"null":                 {0, "0"},
		"1":                    {1e12, "1"},
		"0.1":                  {1e11, "0.1"},
		"0.000000000001":       {1, "0.000000000001"},
		"1e-12":                {1, "0.000000000001"},
		"1.5E-3":               {15e8, "0.0015"},
		"2e3":                  {2e15, "2000"},
		"-3.25":                {-325e10, "-3.25"},
		"0.0000000000019":      {1, "0.000000000001"}, // past the twelfth place: cut
		"1e-64":                {0, "0"},
		"9000000.123456789012": {9000000123456789012, "9000000.123456789012"},
	}
	for in, c := range cases {
		var u sdk.USD
		if err := json.Unmarshal([]byte(in), &u); err != nil || u != c.want {
			t.Errorf("decode %s = %d, %v, want %d", in, u, err, c.want)
		}
		if got := encode(t, u); got != c.out {
			t.Errorf("encode %s = %s, want %s", in, got, c.out)
		}
	}
	for _, in := range []string{`"1"`, `true`, `1e400`, `10000000`, `1e65`, `{}`} {
		var u sdk.USD
		if err := json.Unmarshal([]byte(in), &u); err == nil {
			t.Errorf("decode %s = %s, want an error", in, u)
		}
	}
}

// TestPriceIsExact adds up what floats would get wrong: a million times the price of one token.
func TestPriceIsExact(t *testing.T) {
	t.Parallel()
	var p sdk.Price
	if err := json.Unmarshal([]byte("0.3"), &p); err != nil {
		t.Fatal(err)
	}
	var sum sdk.USD
	for range 1_000_000 {
		sum += p.Times(1)
	}
	if sum != p.Times(1_000_000) || sum.String() != "0.3" {
		t.Errorf("a million tokens at 0.3 dollars per million cost %s", sum)
	}
	if got := encode(t, p); got != "0.3" {
		t.Errorf("price = %s, want 0.3", got)
	}
	if got := (sdk.Price(1)).Times(1).String(); got != "0.000000000001" {
		t.Errorf("the smallest price of one token = %s", got)
	}
}

func TestObjectNumbers(t *testing.T) {
	t.Parallel()
	cases := map[string]any{
		`1`:                      1.0,
		`0.1`:                    0.1,
		`9007199254740991`:       9007199254740991.0,
		`9007199254740993`:       json.Number("9007199254740993"),
		`-12345678901234567890`:  json.Number("-12345678901234567890"),
		`1e400`:                  json.Number("1e400"),
		`3.14159265358979323846`: json.Number("3.14159265358979323846"),
	}
	for in, want := range cases {
		var o sdk.Object
		if err := json.Unmarshal([]byte(`{"n":[`+in+`]}`), &o); err != nil {
			t.Fatal(err)
		}
		if got := o["n"].([]any)[0]; got != want {
			t.Errorf("decode %s = %v (%T), want %v (%T)", in, got, got, want, want)
		}
		if got := encode(t, o); got != `{"n":[`+in+`]}` {
			t.Errorf("encode %s = %s", in, got)
		}
	}
}
