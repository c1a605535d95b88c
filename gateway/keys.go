package gateway

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"os"

	"weir/config"
)

// keyring knows who may use the gateway.
type keyring struct {
	open bool // anybody: the upstream decides
	keys []knownKey
}

type knownKey struct {
	name string
	hash [sha256.Size]byte
}

// keyEntry is a key as its file states it.
type keyEntry struct {
	Name string `yaml:"name"`
	Key  string `yaml:"key"`
}

// Validate implements config.Validator.
func (k *keyEntry) Validate() error {
	if k.Name == "" || len(k.Key) < 8 {
		return errors.New("a key needs a name and at least 8 characters; ${VAR} takes it from the environment")
	}
	return nil
}

func newKeyring(c Keys) (*keyring, error) {
	if c.Mode != KeyFile {
		return &keyring{open: true}, nil
	}
	data, err := os.ReadFile(c.File)
	if err != nil {
		return nil, fmt.Errorf("the file of keys cannot be read: %w", err)
	}
	var f struct {
		Keys []keyEntry `yaml:"keys"`
	}
	if err := config.Decode(c.File, data, &f); err != nil {
		return nil, err
	}
	if len(f.Keys) == 0 {
		return nil, fmt.Errorf("%s:1:1: it holds no keys; write keys: [{name: alice, key: \"${ALICE_KEY}\"}]", c.File)
	}
	k := &keyring{}
	for _, e := range f.Keys {
		k.keys = append(k.keys, knownKey{e.Name, sha256.Sum256([]byte(e.Key))})
	}
	return k, nil
}

// admits reports whether a principal may use the gateway. Every key is
// compared, each in constant time.
func (k *keyring) admits(p principal) bool {
	if k.open {
		return true
	}
	found := 0
	for i := range k.keys {
		found |= subtle.ConstantTimeCompare(k.keys[i].hash[:], p[:])
	}
	return found == 1
}
