package dialect

import (
	"regexp"

	"github.com/valyala/fastjson"

	"weir/stream"
)

// faultOf reads the forms in which services state an error instead of an
// answer; nil where v is none. In the order tried:
//
//	{"error":{"code","type","message"}}   OpenAI, Gemini, Anthropic, vLLM, OpenRouter
//	{"error":"text","error_type"|"code"}  Ollama, TGI, xAI
//	{"error_code","error_msg"}            Baidu
//	{"errors":[{"code","message"}]}       gateways
//	{"detail":"text" or list}             FastAPI
//	{"object":"error","message"}          older vLLM, Mistral
//	{"code"|"status"|"statusCode","message"} without an answer: DashScope, Azure, Dify
func faultOf(v *fastjson.Value) *stream.Fault {
	if !isObject(v) {
		return nil
	}
	if e := v.Get("error"); e != nil {
		if f := errorField(e, v); f != nil {
			return f
		}
	}
	if code := v.Get("error_code"); code != nil {
		return fault(scalar(code), str(v.Get("error_msg")))
	}
	if list := array(v.Get("errors")); len(list) > 0 && !has(v, "choices") {
		return fault(codeOf(list[0]), messageOf(list[0]))
	}
	message := v.Get("message")
	switch {
	case string(strBytes(v.Get("object"))) == "error":
		return fault(codeOf(v), str(message))
	case message != nil && message.Type() == fastjson.TypeString && codeOf(v) != "" && v.Get("choices") == nil && v.Get("event") == nil && v.Get("done") == nil:
		return fault(codeOf(v), str(message))
	case message == nil && v.Get("detail") != nil && v.Get("choices") == nil && v.Get("type") == nil && v.Get("event") == nil:
		return fault("", jsonText(v.Get("detail")))
	}
	return nil
}

// errorField reads the value of "error". An empty or null one says nothing.
func errorField(e, parent *fastjson.Value) *stream.Fault {
	switch e.Type() {
	case fastjson.TypeObject:
		if o, _ := e.Object(); o.Len() == 0 {
			return nil
		}
		return fault(codeOf(e), messageOf(e))
	case fastjson.TypeString:
		if len(strBytes(e)) == 0 {
			return nil
		}
		if m := str(parent.Get("message")); m != "" { // {"error":"ValueError","message":"…"}
			return fault(str(e), m)
		}
		code := str(parent.Get("error_type"))
		if code == "" {
			code = codeOf(parent)
		}
		return fault(code, str(e))
	case fastjson.TypeTrue:
		return fault(codeOf(parent), messageOf(parent))
	}
	return nil
}

func codeOf(v *fastjson.Value) string {
	for _, key := range [...]string{"code", "type", "status", "statusCode", "status_code"} {
		if s := scalar(v.Get(key)); s != "" {
			return s
		}
	}
	return ""
}

func messageOf(v *fastjson.Value) string {
	for _, key := range [...]string{"message", "msg", "detail", "errorText"} {
		if s := jsonText(v.Get(key)); s != "" {
			return s
		}
	}
	if v.Type() == fastjson.TypeString {
		return str(v)
	}
	return jsonText(v)
}

func fault(code, message string) *stream.Fault {
	return &stream.Fault{Code: redact(code), Message: redact(message)}
}

// secret finds what looks like a credential in a service's message.
var secret = regexp.MustCompile(`(?i)(bearer\s+|\b(?:sk|gsk|xai|pplx|hf|key|app|AIza)[-_]?)[A-Za-z0-9_\-.*]{12,}`)

// redact keeps credentials out of errors: services like to quote a wrong key.
func redact(s string) string {
	const most = 4096
	if len(s) > most {
		s = text([]byte(s[:most])) + "…"
	}
	return secret.ReplaceAllString(s, "$1…")
}
