import { Ollama } from "ollama";

export async function read({ url, headers, got, signal }) {
  const client = new Ollama({ host: url, headers });
  const stream = await client.generate({ model: "mock", prompt: "hello", stream: true });
  signal.addEventListener("abort", () => stream.abort());
  for await (const part of stream) {
    if (part.thinking) (got.reasoning += part.thinking), got.pieces++;
    if (part.response) (got.text += part.response), got.pieces++;
    if (part.done) {
      got.finish = part.done_reason ?? "done";
      got.usage = { input: part.prompt_eval_count ?? null, output: part.eval_count ?? null, reasoning: null };
    }
  }
}
