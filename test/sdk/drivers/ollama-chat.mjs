import { Ollama } from "ollama";

export async function read({ url, headers, got, signal }) {
  const client = new Ollama({ host: url, headers });
  const stream = await client.chat({ model: "mock", messages: [{ role: "user", content: "hello" }], stream: true });
  signal.addEventListener("abort", () => stream.abort());
  for await (const part of stream) {
    if (part.message?.thinking) (got.reasoning += part.message.thinking), got.pieces++;
    if (part.message?.content) (got.text += part.message.content), got.pieces++;
    for (const call of part.message?.tool_calls ?? []) {
      got.tools.push({ name: call.function.name, args: JSON.stringify(call.function.arguments) });
      got.pieces++;
    }
    if (part.done) {
      got.finish = part.done_reason ?? "done";
      got.usage = { input: part.prompt_eval_count ?? null, output: part.eval_count ?? null, reasoning: null };
    }
  }
}
