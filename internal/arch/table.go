package arch

// row is what one package may import, beyond the standard library.
type row struct {
	weir []string // packages of weir; "*" = all but cmd
	libs []string // modules, or packages of modules, of others
	why  string   // the reason, where the row departs from DESIGN's table
	next bool     // of the design, and perhaps not built yet
}

// table is the picture of the house: the left wing observes a stream, the
// right wing makes something of the record, stream is the waist. The wings
// never import each other; only rig and cmd/weir join them. An arrow that is
// not here is added here, with its reason.
var table = map[string]row{
	// The waist, and what knows nothing of it.
	"stream": {},
	"wire":   {},
	"config": {libs: []string{"go.yaml.in/yaml/v4"}, why: "one strict YAML decoder, so that every file's errors name line, column and what is allowed"},
	"stat":   {libs: []string{"github.com/HdrHistogram/hdrhistogram-go"}},

	// Left: how a stream is observed.
	"dialect": {
		weir: []string{"stream", "wire", "config"},
		libs: []string{"github.com/valyala/fastjson"},
		why:  "config: a custom dialect is a YAML file; fastjson: ten times the speed of encoding/json on every event",
	},
	"tap": {
		weir: []string{"stream", "wire", "dialect"},
		libs: []string{"github.com/clipperhouse/uax29/v2"},
		why:  "uax29: a visible character is a grapheme cluster, counted where text is gathered",
	},
	"eventlog": {
		weir: []string{"stream", "tap"},
		libs: []string{"github.com/klauspost/compress"},
	},
	"probe": {
		weir: []string{"stream", "wire", "dialect", "tap", "http1", "ws"},
		libs: []string{"github.com/coder/websocket", "golang.org/x/net", "github.com/klauspost/compress"},
		why:  "x/net: h2c; compress: decoding that hands out what was flushed",
	},
	"load": {
		weir: []string{"stream", "stat", "mark", "probe", "dialect", "tap"},
		libs: []string{"golang.org/x/sys", "github.com/HdrHistogram/hdrhistogram-go"},
		next: true,
		why:  "dialect: a scenario's request is an Ask; tap: the live view watches answers where probe takes marks; hdr: its quantiles; x/sys: the precise timer and the generator's limits",
	},
	"mock": {
		weir: []string{"stream", "wire", "dialect"},
		libs: []string{"golang.org/x/net"},
		why:  "x/net: h2c",
	},

	// Right: what is made of the record.
	"mark":   {weir: []string{"stream"}, libs: []string{"github.com/expr-lang/expr"}},
	"metric": {weir: []string{"stream", "stat", "mark"}},
	"table": {
		weir: []string{"stream", "metric", "stat"},
		libs: []string{"github.com/expr-lang/expr"},
		why:  "stat: a group of rows is summed up where its population is known, not in every reader of rows; expr: filters are written in the language of marks",
	},
	"store": {weir: []string{"table"}},
	"store/sqlite": {
		weir: []string{"store", "table", "metric", "stat", "stream"},
		libs: []string{"modernc.org/sqlite"},
		why:  "metric: columns are generated from metric.All; stat, stream: the states of a value and the kinds of a row's fields; modernc: SQLite without a C compiler, so that one static binary remains",
	},
	"store/storetest": {
		weir: []string{"store", "table", "metric", "stat", "stream"},
		why:  "the behaviour suite of stores: it measures records to have rows with every state",
	},
	"diagnose": {weir: []string{"stream", "metric", "stat"}},
	"judge": {
		weir: []string{"stream", "mark", "table", "metric", "stat", "config"},
		why:  "config: a gate's condition is a short text or a mapping, and what is wrong with it is told at its place in the plan",
	},
	"report": {
		weir: []string{"stream", "table", "metric", "stat", "judge", "diagnose"},
		libs: []string{"github.com/clipperhouse/displaywidth", "github.com/clipperhouse/uax29/v2"},
		why:  "displaywidth: a Han character takes two columns of a terminal",
	},

	"http1": {
		weir: []string{"stream"},
		libs: []string{"golang.org/x/sys"},
		why:  "the HTTP/1.1 connection that knows which read brought which byte, for probe and for the gateway's upstreams; x/sys: recvmsg with the kernel's receive time",
	},
	"pace": {
		libs: []string{"github.com/clipperhouse/uax29/v2"},
		why:  "uax29: text is cut only between grapheme clusters",
	},
	"relay/redis": {
		weir: []string{"relay", "wire"},
		libs: []string{"github.com/redis/go-redis/v9"},
	},
	"relay/redis/jobs": {
		weir: []string{"stream", "relay", "relay/redis"},
		libs: []string{"github.com/redis/go-redis/v9"},
		why:  "the queue of requests shares the log's connection, and changes whose its streams are",
	},
	"relay/redis/redistest": {weir: []string{"internal/peer"}, why: "a real Redis as a fixture: a process, nothing of weir"},
	"relay":                 {weir: []string{"stream", "wire"}, why: "stream: how long a job waited is a Maybe"},
	"ws":                    {why: "the messages of a gateway's WebSocket, which three packages write and read"},
	"client":                {weir: []string{"stream", "wire", "ws"}, libs: []string{"github.com/coder/websocket"}},
	"relay/relaytest": {
		weir: []string{"relay", "wire"},
		libs: []string{"pgregory.net/rapid"},
		why:  "the behaviour suite of logs: it draws interleavings and cuts",
	},
	"gateway": {
		weir: []string{"stream", "wire", "dialect", "tap", "relay", "config", "http1", "pace", "ws"},
		libs: []string{"golang.org/x/net/http/httpguts", "github.com/coder/websocket", "golang.org/x/time", "golang.org/x/sys"},
		why:  "config: its configuration and its file of keys are strict YAML; httpguts: a header that is passed on is checked first; sys: the number of sendto",
	},
	"telemetry": {
		weir: []string{"stream", "metric"},
		libs: []string{"github.com/prometheus/client_golang"},
	},

	// What joins the wings.
	"rig": {weir: []string{"*"}},
	"cmd/weir": {
		weir: []string{"*"},
		libs: []string{"github.com/spf13/cobra", "golang.org/x/term", "golang.org/x/net/http/httpguts", "charm.land/bubbletea/v2"},
		why:  "bubbletea: the live screen, which draws only what changed; httpguts: a header given with -H is checked before anything is sent",
	},

	// Runs the others as programs and imports none of them.
	"bench": {libs: []string{"github.com/redis/go-redis/v9"}, why: "go-redis: what an event costs in Redis is asked of Redis"},

	"examples/resume": {weir: []string{"client"}, why: "a program to copy from: it uses what its readers would"},

	// The tests against the real world, and this.
	"internal/arch": {},
	"internal/peer": {},
	"test/relay":    {weir: []string{"internal/peer"}, why: "real relays as fixtures: processes and configurations, nothing of weir"},
	"test/gateway":  {why: "only tests: they hold the gateway against the official SDKs and count with telemetry"},
	"test/workers":  {why: "only tests: edges, workers and a real Redis"},
	"test/load":     {why: "runs the built program against faults; only its tests know the mock and the peers"},
	"test/chaos":    {why: "only tests: the built program over a real Redis, taken apart while clients read"},
	"test/ws":       {why: "only tests: the conformance suite of the WebSocket protocol, a browser and npm ws"},
	"test/sdk":      {why: "runs the official SDKs; only its tests know the mock"},
}

// pure lists the packages that measure: no clock, no files, no network, no
// printing, no chance that is not seeded.
var pure = []string{"stream", "wire", "dialect", "metric", "stat", "table", "judge", "diagnose", "mark"}

// banned says which names of which packages a pure package must not use;
// "*" = any. allowed names what is still fine of a package banned whole.
var banned = map[string][]string{
	"time":         {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"},
	"fmt":          {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
	"os":           {"*"},
	"os/exec":      {"*"},
	"net":          {"*"},
	"log":          {"*"},
	"log/slog":     {"*"},
	"syscall":      {"*"},
	"net/http":     {"Get", "Head", "Post", "PostForm", "DefaultClient", "DefaultTransport", "Client", "Transport", "ListenAndServe", "Serve"},
	"math/rand":    {"*"},
	"math/rand/v2": {"Int", "IntN", "Int32", "Int32N", "Int64", "Int64N", "Uint32", "Uint32N", "Uint64", "Uint64N", "UintN", "N", "Float32", "Float64", "NormFloat64", "ExpFloat64", "Perm", "Shuffle"},
}

// vague lists package names that say nothing of what is inside.
var vague = []string{"util", "utils", "common", "helper", "helpers", "misc", "shared", "base", "lib", "types", "tools"}

// Size budgets, in lines.
const (
	fileLines     = 500
	testFileLines = 700
	funcLines     = 80
)

// oversize lists what may be larger than its budget: "file.go", or
// "file.go:Func", and why it is one piece all the same.
var oversize = map[string]string{}
