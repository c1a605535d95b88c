package probe

import (
	"strings"
	"testing"
)

func TestSafeURLHidesSecretsOfAnyURL(t *testing.T) {
	for _, s := range []string{
		"http://u:s3cret@host/v1", "http://u:s3cret@[::1", "u:s3cret@host", "http://host/?api_key=s3cret",
		"http://h%zz/?key=s3cret", "://u:s3cret@h", "http://a:s3cret@b@c/%zz",
	} {
		if got := SafeURL(s); strings.Contains(got, "s3cret") {
			t.Errorf("SafeURL(%q) = %q", s, got)
		}
	}
}
