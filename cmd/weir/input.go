package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"weir/dialect"
)

// maxInput bounds a file that is read whole, in bytes.
const maxInput = 64 << 20

// readFile reads a whole file the user named.
func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read: closing can lose nothing
	b, err := io.ReadAll(io.LimitReader(f, maxInput+1))
	switch {
	case err != nil:
		return nil, err
	case len(b) > maxInput:
		return nil, fmt.Errorf("%s is larger than %d MiB", name, maxInput>>20)
	}
	return b, nil
}

// readJSON decodes a file strictly: an unknown key or anything after the value
// is an error that names the place.
func readJSON(name string, into any) error {
	b, err := readFile(name)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("%s:%d: %w", name, 1+bytes.Count(b[:min(int(d.InputOffset()), len(b))], []byte("\n")), err)
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("%s: holds more than one JSON value", name)
	}
	return nil
}

// clip shortens what a user wrote for an error text.
func clip(s string, n int) string {
	s = strings.ToValidUTF8(s, "?")
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "..."
}

// namedDialect is the dialect of a --dialect flag: a name, or a YAML file. also
// ends the error of an unknown name: what else the command takes.
func namedDialect(name, also string) (d dialect.Dialect, err error) {
	if strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml") {
		text, err := readFile(name)
		if err != nil {
			return nil, usagef("--dialect: %w", err)
		}
		if d, err = dialect.Load(name, text); err != nil {
			return nil, usagef("--dialect: %w", err)
		}
		return d, nil
	}
	if d, err = dialect.Lookup(name); err != nil {
		return nil, usagef("--dialect: %w%s", err, also)
	}
	return d, nil
}
