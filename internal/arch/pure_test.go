package arch

import (
	"go/parser"
	"go/token"
	"reflect"
	"testing"
)

// The rule of pure packages is only worth what its detector sees.
func TestUses(t *testing.T) {
	const src = `package x
import (
	"fmt"
	"math/rand/v2"
	"net/http"
	clock "time"
	"os"
)
type box struct{ Args []string }
func f(d clock.Duration) {
	_ = clock.Now()
	_ = fmt.Sprintf("%v", d)
	fmt.Println(rand.IntN(3), rand.New(nil))
	_, _ = http.NewRequest("GET", "", nil)
	_ = http.DefaultClient
	_ = os.Args
	{
		os := box{}
		_ = os.Args
	}
}`
	f, err := parser.ParseFile(token.NewFileSet(), "x.go", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"time.Now", "fmt.Println", "math/rand/v2.IntN", "net/http.DefaultClient", "os.Args"}
	if got := uses(f); !reflect.DeepEqual(got, want) {
		t.Errorf("uses = %v, want %v", got, want)
	}
}
