import Anthropic from "@anthropic-ai/sdk";

export async function read({ url, headers, got }) {
  const client = new Anthropic({ baseURL: url, apiKey: "test", defaultHeaders: headers, maxRetries: 0 });
  const stream = await client.messages.create({
    model: "mock",
    max_tokens: 4096,
    messages: [{ role: "user", content: "hello" }],
    stream: true,
  });
  const tools = new Map(); // block index → tool
  for await (const event of stream) {
    switch (event.type) {
      case "message_start":
        got.usage = { input: event.message.usage.input_tokens, output: null, reasoning: null };
        break;
      case "content_block_start":
        if (event.content_block.type === "tool_use") {
          tools.set(event.index, { name: event.content_block.name, args: "" });
          got.tools.push(tools.get(event.index));
        }
        break;
      case "content_block_delta":
        if (event.delta.type === "text_delta") (got.text += event.delta.text), got.pieces++;
        if (event.delta.type === "thinking_delta") (got.reasoning += event.delta.thinking), got.pieces++;
        if (event.delta.type === "input_json_delta") {
          tools.get(event.index).args += event.delta.partial_json;
          if (event.delta.partial_json) got.pieces++;
        }
        break;
      case "message_delta":
        got.finish = event.delta.stop_reason;
        if (event.usage) got.usage = { ...got.usage, output: event.usage.output_tokens };
        break;
    }
  }
}
