package dialect

import (
	"testing"

	"weir/stream"
	"weir/wire"
)

// BenchmarkClassify measures one text delta of each dialect as its service
// writes it.
func BenchmarkClassify(b *testing.B) {
	for _, x := range []struct{ dialect, event, data string }{
		{"openai.chat", "", `{"id":"chatcmpl-AbCdEfGhIjKlMnOp","object":"chat.completion.chunk","created":1764460800,"model":"gpt-4.1-nano","service_tier":"default","choices":[{"index":0,"delta":{"content":" river"},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"x9"}`},
		{"openai.responses", "response.output_text.delta", `{"type":"response.output_text.delta","sequence_number":3,"item_id":"msg_1","output_index":0,"content_index":0,"delta":" river","logprobs":[],"obfuscation":"q1"}`},
		{"anthropic", "content_block_delta", `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":" river"}}`},
		{"gemini", "", `{"candidates":[{"content":{"parts":[{"text":" river"}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":1,"totalTokenCount":9},"modelVersion":"m","responseId":"r"}`},
		{"dify", "", `{"event":"message","task_id":"t","message_id":"m","conversation_id":"c","answer":" river","created_at":1}`},
		{"ollama", "", `{"model":"m","created_at":"2026-01-01T00:00:00.2Z","message":{"role":"assistant","content":" river"},"done":false}`},
		{"article", "", `{"type":"token","seq":1,"delta":" river","token_count":1,"service_time_ms":12.5}`},
	} {
		b.Run(x.dialect, func(b *testing.B) {
			d, err := Lookup(x.dialect)
			if err != nil {
				b.Fatal(err)
			}
			c := d.NewClassifier()
			f := wire.Frame{Kind: wire.Event, Event: []byte(x.event), Data: []byte(x.data), Raw: []byte(x.data)}
			texts := 0
			emit := func(e *stream.Event) {
				if e.Text == " river" {
					texts++
				}
			}
			b.ReportAllocs()
			b.SetBytes(int64(len(x.data)))
			for b.Loop() {
				_ = c.Classify(f, emit)
			}
			if texts != b.N {
				b.Fatalf("%d texts of %d", texts, b.N)
			}
		})
	}
}
