package dialect

import (
	"fmt"
	"strings"
)

// All lists the built-in dialects in the order in which they are tried.
var All = []Dialect{
	openAIChat{},
	openAIResponses{},
	anthropic{},
	gemini{},
	dify{},
	ollama{},
	article(),
}

// Names lists the built-in dialects' names.
func Names() []string {
	names := make([]string, len(All))
	for i, d := range All {
		names[i] = d.Name()
	}
	return names
}

// Lookup finds a built-in dialect; an unknown name is an error that lists them.
func Lookup(name string) (Dialect, error) {
	for _, d := range All {
		if d.Name() == name {
			return d, nil
		}
	}
	return nil, fmt.Errorf("no dialect is called %q: there are %s, or give the file of a custom one (NAME.yaml)", name, strings.Join(Names(), ", "))
}
