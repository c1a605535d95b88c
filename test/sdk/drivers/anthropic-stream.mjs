// The SDK's own accumulator, which checks the order of blocks and parses the
// tool's JSON at its end: stricter than reading the events.
import Anthropic from "@anthropic-ai/sdk";

export async function read({ url, headers, got, signal }) {
  const client = new Anthropic({ baseURL: url, apiKey: "test", defaultHeaders: headers, maxRetries: 0 });
  const stream = client.messages.stream(
    { model: "mock", max_tokens: 4096, messages: [{ role: "user", content: "hello" }] },
    { signal },
  );
  stream.on("text", () => got.pieces++);
  stream.on("thinking", () => got.pieces++);
  const message = await stream.finalMessage();
  for (const block of message.content) {
    if (block.type === "text") got.text += block.text;
    if (block.type === "thinking") got.reasoning += block.thinking;
    if (block.type === "tool_use") got.tools.push({ name: block.name, args: JSON.stringify(block.input) });
  }
  got.finish = message.stop_reason;
  got.usage = { input: message.usage.input_tokens, output: message.usage.output_tokens, reasoning: null };
}
