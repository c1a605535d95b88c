// Reads streams with an official SDK and prints, a line of JSON for each, what
// the SDK gave its user. Usage: node driver.mjs DRIVER URL SETTINGS…, where each
// SETTINGS (see weir mock --help) is one request.
//
// It refuses to judge: an error that the SDK raises is part of the result.
const [name, url, ...requests] = process.argv.slice(2);
const { read } = await import(`./drivers/${name}.mjs`);

for (const settings of requests) {
  const got = {
    text: "",
    reasoning: "",
    tools: [], // {name, args}, args as the joined text of their pieces
    pieces: 0, // stream items that brought text, reasoning or a piece of a tool call
    finish: null,
    usage: null, // {input, output, reasoning?} as the SDK states it
    error: null, // {name, message, status?} where the SDK raised
  };
  try {
    await read({ url, headers: { "x-weir-mock": settings }, got });
  } catch (e) {
    got.error = { name: e?.name ?? typeof e, message: String(e?.message ?? e), status: e?.status ?? e?.status_code ?? null };
  }
  console.log(JSON.stringify(got));
}
