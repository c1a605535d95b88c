package dialect

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestRequest shows what each dialect sends: URL, where the key goes, body.
func TestRequest(t *testing.T) {
	ask := Ask{Model: "m", Prompt: "Hi", MaxTokens: 7, APIKey: "k"}
	talk := Ask{Model: "m", APIKey: "k", Messages: []Message{{"system", "Be brief"}, {"user", "Hi"}, {"assistant", "Yo"}, {"user", "Bye"}}}
	whole := ask
	whole.Whole = true
	noUsage := ask
	noUsage.NoUsage = true
	for _, c := range []struct {
		dialect, url string
		ask          Ask
		want         string // URL, key header, body
	}{
		{"openai.chat", "http://h:8000", ask, `http://h:8000/v1/chat/completions Authorization=Bearer k {"model":"m","messages":[{"role":"user","content":"Hi"}],"max_tokens":7,"stream":true,"stream_options":{"include_usage":true}}`},
		{"openai.chat", "http://h/v1/", whole, `http://h/v1/chat/completions Authorization=Bearer k {"model":"m","messages":[{"role":"user","content":"Hi"}],"max_tokens":7,"stream":false}`},
		{"openai.chat", "http://h/?ttft=1s", noUsage, `http://h/v1/chat/completions?ttft=1s Authorization=Bearer k {"model":"m","messages":[{"role":"user","content":"Hi"}],"max_tokens":7,"stream":true}`},
		{"openai.chat", "https://api.openai.com/v1", ask, `https://api.openai.com/v1/chat/completions Authorization=Bearer k {"model":"m","messages":[{"role":"user","content":"Hi"}],"max_completion_tokens":7,"stream":true,"stream_options":{"include_usage":true}}`},
		{"openai.chat", "https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=1", ask, `https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=1 Api-Key=k {"model":"m","messages":[{"role":"user","content":"Hi"}],"max_completion_tokens":7,"stream":true,"stream_options":{"include_usage":true}}`},
		{"openai.chat", "http://h/api/v1", ask, `http://h/api/v1/chat/completions Authorization=Bearer k {"model":"m","messages":[{"role":"user","content":"Hi"}],"max_tokens":7,"stream":true,"stream_options":{"include_usage":true}}`},
		{"openai.chat", "http://h/completion", ask, `http://h/completion Authorization=Bearer k {"prompt":"Hi","n_predict":7,"stream":true}`},
		{"openai.chat", "http://h/v1/completions", ask, `http://h/v1/completions Authorization=Bearer k {"model":"m","prompt":"Hi","max_tokens":7,"stream":true,"stream_options":{"include_usage":true}}`},
		{"openai.chat", "http://h/my/path", Ask{Body: []byte(`{"x":1}`)}, `http://h/my/path {"x":1}`},
		{"openai.responses", "http://h/v1", talk, `http://h/v1/responses Authorization=Bearer k {"model":"m","input":[{"role":"system","content":"Be brief"},{"role":"user","content":"Hi"},{"role":"assistant","content":"Yo"},{"role":"user","content":"Bye"}],"max_output_tokens":200,"stream":true}`},
		{"anthropic", "http://h", talk, `http://h/v1/messages X-Api-Key=k {"model":"m","max_tokens":200,"system":"Be brief","messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Yo"},{"role":"user","content":"Bye"}],"stream":true}`},
		{"anthropic", "http://h/anthropic/v1", whole, `http://h/anthropic/v1/messages X-Api-Key=k {"model":"m","max_tokens":7,"messages":[{"role":"user","content":"Hi"}],"stream":false}`},
		{"gemini", "http://h", talk, `http://h/v1beta/models/m:streamGenerateContent?alt=sse X-Goog-Api-Key=k {"contents":[{"role":"user","parts":[{"text":"Hi"}]},{"role":"model","parts":[{"text":"Yo"}]},{"role":"user","parts":[{"text":"Bye"}]}],"systemInstruction":{"parts":[{"text":"Be brief"}]},"generationConfig":{"maxOutputTokens":200}}`},
		{"gemini", "http://h/v1beta?n=3", whole, `http://h/v1beta/models/m:generateContent?n=3 X-Goog-Api-Key=k {"contents":[{"role":"user","parts":[{"text":"Hi"}]}],"generationConfig":{"maxOutputTokens":7}}`},
		{"gemini", "http://h/v1/models/x:streamGenerateContent", ask, `http://h/v1/models/x:streamGenerateContent X-Goog-Api-Key=k {"contents":[{"role":"user","parts":[{"text":"Hi"}]}],"generationConfig":{"maxOutputTokens":7}}`},
		{"gemini", "http://h/v1beta/models/x:streamGenerateContent?alt=sse", whole, `http://h/v1beta/models/x:generateContent X-Goog-Api-Key=k {"contents":[{"role":"user","parts":[{"text":"Hi"}]}],"generationConfig":{"maxOutputTokens":7}}`},
		{"gemini", "http://h/v1beta/models/x:generateContent", ask, `http://h/v1beta/models/x:streamGenerateContent?alt=sse X-Goog-Api-Key=k {"contents":[{"role":"user","parts":[{"text":"Hi"}]}],"generationConfig":{"maxOutputTokens":7}}`},
		{"dify", "http://h/v1", ask, `http://h/v1/chat-messages Authorization=Bearer k {"inputs":{},"query":"Hi","response_mode":"streaming","conversation_id":"","user":"weir"}`},
		{"dify", "http://h/v1/workflows/run", whole, `http://h/v1/workflows/run Authorization=Bearer k {"inputs":{"query":"Hi"},"response_mode":"blocking","conversation_id":"","user":"weir"}`},
		{"ollama", "http://h:11434", ask, `http://h:11434/api/chat Authorization=Bearer k {"model":"m","messages":[{"role":"user","content":"Hi"}],"stream":true,"options":{"num_predict":7}}`},
		{"ollama", "http://h:11434/v1", ask, `http://h:11434/api/chat Authorization=Bearer k {"model":"m","messages":[{"role":"user","content":"Hi"}],"stream":true,"options":{"num_predict":7}}`},
		{"ollama", "http://h/api/generate", whole, `http://h/api/generate Authorization=Bearer k {"model":"m","prompt":"Hi","stream":false,"options":{"num_predict":7}}`},
		{"article", "http://h", ask, `http://h/custom/chat Authorization=Bearer k {"max_tokens":7,"model":"m","prompt":"Hi","stream":true}`},
	} {
		d, err := Lookup(c.dialect)
		if err != nil {
			t.Fatal(err)
		}
		c.ask.URL = c.url
		req, err := d.Request(c.ask)
		if err != nil {
			t.Errorf("%s %s: %v", c.dialect, c.url, err)
			continue
		}
		if got := sent(t, req); got != c.want {
			t.Errorf("%s %s\n got %s\nwant %s", c.dialect, c.url, got, c.want)
		}
	}
}

// sent is what a request says, without the headers that all have.
func sent(t *testing.T, r *http.Request) string {
	t.Helper()
	s := r.URL.String() + " "
	for _, k := range []string{"Authorization", "Api-Key", "X-Api-Key", "X-Goog-Api-Key"} {
		if v := r.Header.Get(k); v != "" {
			s += k + "=" + v + " "
		}
	}
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return s + string(b)
}

func TestRequestHeaders(t *testing.T) {
	for _, d := range All {
		a := Ask{URL: "http://h", APIKey: "k", Header: http.Header{"authorization": {"Basic x"}, "X-Own": {"1"}}}
		r, err := d.Request(a)
		if err != nil {
			t.Fatal(err)
		}
		if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Accept") == "" {
			t.Errorf("%s: %s %v", d.Name(), r.Method, r.Header)
		}
		if r.Header.Get("Authorization") != "Basic x" || r.Header.Get("X-Own") != "1" {
			t.Errorf("%s: the user's headers do not win: %v", d.Name(), r.Header)
		}
		if r.GetBody == nil {
			t.Errorf("%s: the body cannot be sent again on a redirect", d.Name())
		}
		a.Whole = true
		if r, err = d.Request(a); err != nil || r.Header.Get("Accept") != "application/json" {
			t.Errorf("%s, whole: %v %v", d.Name(), r.Header, err)
		}
	}
}

func TestRequestRefusesBadURLs(t *testing.T) {
	for url, want := range map[string]string{
		"":                              "is empty",
		"localhost:8000":                "has no scheme",
		"h/v1":                          "has no scheme",
		"ftp://h":                       "is neither http nor https",
		"ws://h":                        "is neither http nor https",
		"http://":                       "has no host",
		"http://:80":                    "has no host",
		"http://user:secret@h:port/":    "cannot be read",
		"http://h/%zz":                  "cannot be read",
		"http://user:secret@[::1/":      "cannot be read",
		"user:secret@host.example:8080": "has no scheme",
	} {
		for _, d := range All {
			_, err := d.Request(Ask{URL: url})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s %q: %v", d.Name(), url, err)
			} else if strings.Contains(err.Error(), "secret") {
				t.Errorf("%s %q: the error holds a credential: %v", d.Name(), url, err)
			}
		}
	}
}
