package pace

// shape is what an event's JSON must look like to be cut. Every piece of it
// repeats all but the text, so every key must be known to bear that: ids,
// names, times, cumulative counts. An event with anything else stays whole.
type shape struct {
	kind   kind
	word   string           // of a word
	fields map[string]shape // of an object
	of     *shape           // of a list
}

type kind uint8

const (
	anything kind = iota
	nothing       // null
	no            // false
	word          // this string
	text          // the string that may be cut: once in an event
	object        // with no other keys
	one           // a list with one element
)

func obj(fields map[string]shape) shape { return shape{kind: object, fields: fields} }

func list(of shape) shape { return shape{kind: one, of: &of} }

func is(s string) shape { return shape{kind: word, word: s} }

// shapes are the events that may be cut, by dialect. openai.responses is not
// among them: its events are numbered, and a client goes on from the number.
var shapes = map[string][]shape{
	"openai.chat": {chatChunk()},
	"anthropic": {obj(map[string]shape{"type": is("content_block_delta"), "index": {},
		"delta": obj(map[string]shape{"type": is("text_delta"), "text": {kind: text}})})},
	"gemini": {geminiChunk()},
	"ollama": {ollamaLine("message", obj(map[string]shape{"role": {}, "content": {kind: text}})),
		ollamaLine("response", shape{kind: text})},
	"dify": {difyMessage("message"), difyMessage("agent_message"), difyText()},
}

func chatChunk() shape {
	choice := obj(map[string]shape{"index": {}, "finish_reason": {kind: nothing}, "native_finish_reason": {kind: nothing},
		"logprobs": {kind: nothing}, "delta": obj(map[string]shape{"role": {}, "content": {kind: text}, "refusal": {kind: nothing}})})
	return obj(map[string]shape{"id": {}, "object": {}, "created": {}, "model": {}, "provider": {}, "service_tier": {},
		"system_fingerprint": {}, "obfuscation": {}, "usage": {kind: nothing}, "choices": list(choice)})
}

// geminiChunk has the usage up to and with it: every piece states it.
func geminiChunk() shape {
	candidate := obj(map[string]shape{"index": {}, "content": obj(map[string]shape{"role": {},
		"parts": list(obj(map[string]shape{"text": {kind: text}}))})})
	return obj(map[string]shape{"usageMetadata": {}, "modelVersion": {}, "responseId": {}, "createTime": {},
		"candidates": list(candidate)})
}

func ollamaLine(key string, v shape) shape {
	return obj(map[string]shape{"model": {}, "created_at": {}, "done": {kind: no}, key: v})
}

func difyMessage(name string) shape {
	return obj(map[string]shape{"event": is(name), "task_id": {}, "id": {}, "message_id": {}, "conversation_id": {},
		"mode": {}, "created_at": {}, "from_variable_selector": {}, "answer": {kind: text}})
}

func difyText() shape {
	return obj(map[string]shape{"event": is("text_chunk"), "task_id": {}, "workflow_run_id": {},
		"data": obj(map[string]shape{"text": {kind: text}, "from_variable_selector": {}})})
}
