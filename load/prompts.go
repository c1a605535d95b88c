package load

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"weir/dialect"
)

// prompt is one entry of a file of prompts: a text or a conversation.
type prompt struct {
	text  string
	turns []dialect.Message
}

// read reads the file: a text file has a prompt a line, JSONL a text or an
// object a line, JSON a list of them (ShareGPT's form among them), CSV a
// column. A relative file is below base.
func (f PromptFile) read(base string) ([]prompt, error) {
	data, err := readBounded(base, f.File)
	if err != nil {
		return nil, fmt.Errorf("prompts: %w", err)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	var list []prompt
	switch ext := strings.ToLower(filepath.Ext(f.File)); ext {
	case ".jsonl", ".ndjson":
		list, err = f.lines(data, f.object)
	case ".json":
		list, err = f.array(data)
	case ".csv":
		list, err = f.table(data)
	default:
		list, err = f.lines(data, func(line []byte) (prompt, error) { return prompt{text: string(line)}, nil })
	}
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%s: holds no prompt", f.File)
	}
	return list, err
}

func (f PromptFile) lines(data []byte, read func([]byte) (prompt, error)) ([]prompt, error) {
	var list []prompt
	scan := bufio.NewScanner(bytes.NewReader(data))
	scan.Buffer(nil, 64<<20)
	for n := 1; scan.Scan(); n++ {
		line := bytes.TrimSpace(scan.Bytes())
		if len(line) == 0 {
			continue
		}
		p, err := read(line)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", f.File, n, err)
		}
		if list = append(list, p); len(list) > maxLines {
			return nil, fmt.Errorf("%s: more than %d prompts", f.File, maxLines)
		}
	}
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", f.File, err)
	}
	return list, nil
}

func (f PromptFile) array(data []byte) ([]prompt, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(data, &items); err != nil {
		return nil, fmt.Errorf("%s: not a JSON list: %w", f.File, err)
	}
	list := make([]prompt, 0, len(items))
	for i, item := range items {
		p, err := f.object(item)
		if err != nil {
			return nil, fmt.Errorf("%s: item %d: %w", f.File, i+1, err)
		}
		list = append(list, p)
	}
	return list, nil
}

// promptNames are where data sets keep what is asked.
var promptNames = []string{"prompt", "question", "query", "text", "input", "instruction", "messages", "conversations", "conversation"}

// object reads a text, or the member of an object that holds the prompt.
func (f PromptFile) object(raw []byte) (prompt, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return prompt{text: text}, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return prompt{}, fmt.Errorf("neither a text nor an object: %w", err)
	}
	names := promptNames
	if f.Field != "" {
		names = []string{f.Field}
	}
	for _, name := range names {
		if v, ok := members[name]; ok {
			return promptOf(name, v)
		}
	}
	return prompt{}, fmt.Errorf("no member %s; name yours with field", strings.Join(names, ", "))
}

func promptOf(name string, v json.RawMessage) (prompt, error) {
	var text string
	if json.Unmarshal(v, &text) == nil {
		return prompt{text: text}, nil
	}
	var turns []struct {
		Role, Content string
		From, Value   string // ShareGPT
	}
	if err := json.Unmarshal(v, &turns); err != nil {
		return prompt{}, fmt.Errorf("%s is neither a text nor a list of turns", name)
	}
	var p prompt
	for _, t := range turns {
		m := dialect.Message{Role: t.Role, Content: t.Content}
		if t.From != "" {
			m = dialect.Message{Role: shareRole(t.From), Content: t.Value}
		}
		p.turns = append(p.turns, m)
		if t.From != "" && m.Role == "user" {
			break // the recorded answers are not part of the question
		}
	}
	if len(p.turns) == 0 || p.turns[len(p.turns)-1].Role == "assistant" {
		return prompt{}, fmt.Errorf("%s does not end with the user's turn", name)
	}
	return p, nil
}

// shareRole is ShareGPT's name of a speaker in the usual words.
func shareRole(from string) string {
	switch from {
	case "human", "user":
		return "user"
	case "system":
		return "system"
	}
	return "assistant"
}

func (f PromptFile) table(data []byte) ([]prompt, error) {
	r := csv.NewReader(bytes.NewReader(data))
	r.ReuseRecord = true
	head, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("%s: not a CSV file: %w", f.File, err)
	}
	names := promptNames
	if f.Field != "" {
		names = []string{strings.ToLower(f.Field)}
	}
	at := slices.IndexFunc(head, func(h string) bool { return slices.Contains(names, strings.ToLower(strings.TrimSpace(h))) })
	if at < 0 {
		return nil, fmt.Errorf("%s:1: no column %s; the columns are %s; name yours with field", f.File, strings.Join(names, ", "), strings.Join(head, ", "))
	}
	var list []prompt
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.File, err)
		}
		if row[at] != "" {
			list = append(list, prompt{text: strings.Clone(row[at])})
		}
	}
}
