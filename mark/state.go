package mark

import "encoding/json"

// merge merges a state object; false where it is none, or too much came.
func (v *Evaluator) merge(raw json.RawMessage) bool {
	if v.state+len(raw) > maxState {
		return false
	}
	var patch map[string]any
	if json.Unmarshal(raw, &patch) != nil || patch == nil {
		return false
	}
	v.state += len(raw)
	v.env.State = mergePatch(v.env.State, patch)
	return true
}

// mergePatch is JSON Merge Patch (RFC 7396) on a target it may change.
func mergePatch(target, patch map[string]any) map[string]any {
	if target == nil {
		target = make(map[string]any, len(patch))
	}
	for name, value := range patch {
		switch p := value.(type) {
		case nil:
			delete(target, name)
		case map[string]any:
			old, _ := target[name].(map[string]any)
			target[name] = mergePatch(old, p)
		default:
			target[name] = value
		}
	}
	return target
}
