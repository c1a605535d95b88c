package rig

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/judge"
)

// reader is a service that reads its prompt at 20 µs a character before it
// speaks, and remembers what it was asked.
type reader struct {
	mu    sync.Mutex
	asked []string
}

func (s *reader) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Messages []struct{ Role, Content string }
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || len(body.Messages) == 0 {
		http.Error(w, "no messages", http.StatusBadRequest)
		return
	}
	chars, text := 0, ""
	for _, m := range body.Messages {
		chars += len(m.Content)
		text += m.Content
	}
	s.mu.Lock()
	s.asked = append(s.asked, text)
	s.mu.Unlock()
	time.Sleep(20*time.Millisecond + time.Duration(chars)*20*time.Microsecond)
	w.Header().Set("Content-Type", "text/event-stream")
	for _, word := range []string{"yes", " of", " course"} {
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", word)
	}
	fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
}

// A longer system prompt costs ttft: the classic case. And no prompt of a run
// begins like one of another, so that no side profits from the other's cache.
func TestInterleaveFindsLongerPrompt(t *testing.T) {
	t.Parallel()
	service := &reader{}
	s := httptest.NewServer(service)
	defer s.Close()
	plan := func(system string) *LoadPlan {
		text := strings.NewReplacer("URL", s.URL, "{prompt: hello}", `{messages: [{role: system, content: "`+system+`"}, {role: user, content: hello}]}`).Replace(shortPlan)
		return parse(t, text)
	}
	long := plan("Be kind. " + strings.Repeat("Know every rule. ", 150))
	o := InterleaveOptions{A: Arm{Plan: plan("Be kind.")}, B: Arm{Plan: long}, Rest: 1, Compare: judge.CompareOptions{Vary: []string{VaryPrompt}}}
	found, err := Interleave(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if c := found.Comparison; c == nil || c.Verdict != judge.Slower || !strings.Contains(c.B.Varied["prompt"], "characters") {
		t.Errorf("%+v", found)
	}
	begins := map[string]int{}
	for _, text := range service.asked {
		begins[text[:min(len(text), 60)]]++
	}
	if len(begins) != len(service.asked) {
		t.Errorf("%d prompts begin in %d ways", len(service.asked), len(begins))
	}
}
