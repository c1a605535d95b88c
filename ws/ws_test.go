package ws

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
)

// The shipped schema is that of the types; WEIR_UPDATE_SCHEMA=1 writes it.
func TestSchemaIsShipped(t *testing.T) {
	const file = "../docs/websocket.schema.json"
	want, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("WEIR_UPDATE_SCHEMA") != "" {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not the schema of the protocol (%v); WEIR_UPDATE_SCHEMA=1 go test ./ws -run Schema writes it", file, err)
	}
}

// The guide names every message, field of a client's message, and code.
func TestGuideIsWhole(t *testing.T) {
	b, err := os.ReadFile("../docs/websocket.md")
	if err != nil {
		t.Fatal(err)
	}
	guide := string(b)
	for _, k := range Kinds {
		if !strings.Contains(guide, "`"+k.Name+"`") {
			t.Errorf("docs/websocket.md does not name %s", k.Name)
		}
		for _, f := range fieldsOf(reflect.TypeOf(k.New()).Elem()) {
			if !strings.Contains(guide, "`"+f.name+"`") && !strings.Contains(guide, `"`+f.name+`"`) {
				t.Errorf("docs/websocket.md does not name %s of %s", f.name, k.Name)
			}
		}
	}
	for _, m := range Codes {
		b, _ := json.Marshal(m.Code)
		if !strings.Contains(guide, "| "+string(b)+" | "+m.Name+" |") {
			t.Errorf("docs/websocket.md does not explain %d %s", m.Code, m.Name)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, c := range []struct{ message, says string }{
		{``, "no JSON object"},
		{`[]`, "no JSON object"},
		{`{"id":"a"}`, "has no type"},
		{`{"type":7}`, "type must be string"},
		{`{"type":"hello"}`, `"hello" is no type`},
		{`{"type":"start","id":"a"}`, "path is missing"},
		{`{"type":"start","id":"a","path":null}`, "path is missing"},
		{`{"type":"start","id":"a","path":"/x","bodi":{}}`, `no field "bodi"`},
		{`{"type":"start","id":"a","path":"/x","headers":{"a":1}}`, "headers"},
		{`{"type":"resume","id":"a","stream":"s","after":1.5}`, "after must be int64"},
		{`{"type":"cancel","id":"a"`, "no JSON object"},
		{`{"type":"cancel","id":"a"} x`, "no JSON object"},
		{"{\"type\":\"cancel\",\"id\":\"\xff\"}", "not valid UTF-8"},
	} {
		_, err := Decode("client", []byte(c.message))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.message, err, c.says)
		}
	}
	if _, err := Decode("client", []byte(`{"type":"auth","key":{"sk-secret":"sk-secret"}}`)); err == nil || strings.Contains(err.Error(), "sk-") {
		t.Errorf("the error tells the key: %v", err)
	}
}

func TestEveryKindGoesRound(t *testing.T) {
	for _, k := range Kinds {
		m := k.New()
		fill(reflect.ValueOf(m).Elem())
		b, err := Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(k.From, b)
		if err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("%s: %s became %+v (%v)", k.Name, b, got, err)
		}
	}
	if _, err := Encode(7); err == nil {
		t.Error("a number was encoded")
	}
}

// fill sets every field to something that is not its zero.
func fill(v reflect.Value) {
	for i := range v.NumField() {
		switch f := v.Field(i); f.Interface().(type) {
		case json.RawMessage:
			f.Set(reflect.ValueOf(json.RawMessage(`{"a":[1]}`)))
		case *string:
			s := "x"
			f.Set(reflect.ValueOf(&s))
		case map[string]string:
			f.Set(reflect.ValueOf(map[string]string{"A": "b"}))
		case map[string][]json.RawMessage:
			f.Set(reflect.ValueOf(map[string][]json.RawMessage{"messages": {json.RawMessage(`1`)}}))
		case string:
			f.SetString("x")
		case bool:
			f.SetBool(true)
		case *Phases, *Usage:
			f.Set(reflect.New(f.Type().Elem()))
			fill(f.Elem())
		case *float64:
			f.Set(reflect.New(f.Type().Elem()))
			f.Elem().SetFloat(1.5)
		case *int:
			f.Set(reflect.New(f.Type().Elem()))
			f.Elem().SetInt(7)
		default:
			f.SetInt(4000)
		}
	}
}

func TestAppendEventIsAnEvent(t *testing.T) {
	for _, data := range []string{"", "{\"a\":\"\\u00e9 \\\"\"}", "two\nlines\r", "\x00\x1f\t", "日本\u2028</script>", "\xff\xfe bad"} {
		got, err := Decode("gateway", AppendEvent(nil, EventBytes{ID: "a", Seq: 7, Event: []byte("x\xff\""), EventID: []byte("s.e.7"), Data: []byte(data)}))
		if err != nil {
			t.Errorf("%q: %v", data, err)
			continue
		}
		e := got.(*Event)
		if b, _ := e.Bytes(); string(b) != data || e.Event != "x\ufffd\"" || e.EventID != "s.e.7" || e.Seq != 7 {
			t.Errorf("%q became %+v", data, e)
		}
	}
	if got, err := Decode("gateway", AppendEvent(nil, EventBytes{ID: "a", Partial: true})); err != nil || got.(*Event).Data != nil || !got.(*Event).Partial {
		t.Errorf("%+v %v", got, err)
	}
}

func TestCodes(t *testing.T) {
	for _, m := range Codes {
		if m.Code.Sendable() != m.Code || m.Code.String() != m.Name {
			t.Errorf("%d %s", m.Code, m.Name)
		}
		if m.Code >= 4000 && m.Code.MayReconnect() != (m.Code < 4500) {
			t.Errorf("%d is in the wrong range", m.Code)
		}
	}
	for _, c := range []Code{0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000} {
		if c.Sendable() != Broken {
			t.Errorf("%d is passed on as %d", c, c.Sendable())
		}
	}
}

// Whatever comes, decoding neither fails to end nor makes what it cannot write.
func FuzzDecode(f *testing.F) {
	for _, k := range Kinds {
		m := k.New()
		fill(reflect.ValueOf(m).Elem())
		b, _ := Encode(m)
		f.Add(b)
	}
	f.Add([]byte(`{"type":"start","type":"cancel","id":"a"}`))
	f.Fuzz(func(t *testing.T, p []byte) {
		for _, from := range []string{"client", "gateway"} {
			m, err := Decode(from, p)
			if err != nil {
				continue
			}
			b, err := Encode(m)
			if err != nil {
				t.Fatalf("%q was read and cannot be written: %v", p, err)
			}
			if _, err := Decode(from, b); err != nil {
				t.Fatalf("%q became %q: %v", p, b, err)
			}
		}
	})
}
