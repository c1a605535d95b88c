// Reads streams with an official SDK and prints, a line of JSON for each, what
// the SDK gave its user. Usage: node driver.mjs [--leave N] DRIVER URL SETTINGS…,
// where each SETTINGS (see weir mock --help) is one request. With --leave the
// user leaves after N pieces, as the SDK has it, and the process stays until its
// standard input ends, so that it is the SDK that closed the connection.
// HEADERS in the environment is a JSON object of further request headers.
//
// It refuses to judge: an error that the SDK raises is part of the result.
const args = process.argv.slice(2);
const leave = args[0] === "--leave" ? Number(args.splice(0, 2)[1]) : Infinity;
const [name, url, ...requests] = args;
const { read } = await import(`./drivers/${name}.mjs`);

class Left extends Error {
  name = "Left";
}

for (const settings of requests) {
  const leaving = new AbortController();
  let pieces = 0;
  const got = {
    text: "",
    reasoning: "",
    tools: [], // {name, args}, args as the joined text of their pieces
    // stream items that brought text, reasoning or a piece of a tool call
    get pieces() {
      return pieces;
    },
    set pieces(n) {
      pieces = n;
      if (n < leave) return;
      leaving.abort();
      throw new Left();
    },
    finish: null,
    usage: null, // {input, output, reasoning?} as the SDK states it
    error: null, // {name, message, status?} where the SDK raised
  };
  try {
    const headers = { "x-weir-mock": settings, ...JSON.parse(process.env.HEADERS ?? "{}") };
    await read({ url, headers, got, signal: leaving.signal });
  } catch (e) {
    got.error = { name: e?.name ?? typeof e, message: String(e?.message ?? e), status: e?.status ?? e?.status_code ?? null };
  }
  console.log(JSON.stringify(got));
}
if (leave < Infinity) {
  for await (const _ of process.stdin);
}
