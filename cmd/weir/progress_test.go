package main

import (
	"bytes"
	"testing"
)

func TestColumns(t *testing.T) {
	for env, want := range map[string]int{"": 100, "80": 80, "12": 40, "4000": 120, "wide": 100, "-3": 100} {
		t.Setenv("COLUMNS", env)
		if got := columns(&bytes.Buffer{}); got != want {
			t.Errorf("COLUMNS=%q: %d columns, want %d", env, got, want)
		}
	}
}
