// Package config reads YAML files strictly: a mistake is an error that names
// file, line, column, the key and what is allowed there, and ${VAR} takes from
// the environment.
//
// It refuses to guess: no unknown keys, no keys given twice, no values that are
// nearly right, no defaults of its own (a key that is absent leaves the field
// as it was). Errors never quote what an environment variable held.
package config
