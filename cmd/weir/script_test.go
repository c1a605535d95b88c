package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"weir/mock"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"weir": main})
}

// TestScripts runs testdata/script: each file is a command-line session. The
// command `mock NAME [k=v,…]` starts a model service and puts its URL into $NAME.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: false,
		UpdateScripts:       os.Getenv("WEIR_UPDATE_SCRIPTS") != "",
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"mock": startMock},
	})
}

func startMock(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 1 {
		ts.Fatalf("usage: mock NAME [k=v,…]")
	}
	o := mock.Options{Listen: "127.0.0.1:0"}
	if len(args) > 1 {
		o.Set = args[1]
	}
	s, err := mock.Start(o)
	ts.Check(err)
	ts.Defer(func() { s.Close() })
	ts.Setenv(args[0], s.URL())
}
