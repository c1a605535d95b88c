import OpenAI from "openai";

export async function read({ url, headers, got }) {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "test", defaultHeaders: headers, maxRetries: 0 });
  const stream = await client.responses.create({ model: "mock", input: "hello", stream: true });
  const tools = new Map(); // item id → tool
  for await (const event of stream) {
    switch (event.type) {
      case "error": // handed out as an event, not raised
        got.error = { name: "error event", message: event.message };
        break;
      case "response.output_text.delta":
        (got.text += event.delta), got.pieces++;
        break;
      case "response.reasoning_text.delta":
      case "response.reasoning_summary_text.delta":
        (got.reasoning += event.delta), got.pieces++;
        break;
      case "response.output_item.added":
        if (event.item.type === "function_call") {
          tools.set(event.item.id, { name: event.item.name, args: "" });
          got.tools.push(tools.get(event.item.id));
        }
        break;
      case "response.function_call_arguments.delta":
        (tools.get(event.item_id).args += event.delta), got.pieces++;
        break;
      case "response.completed":
      case "response.incomplete":
      case "response.failed":
        got.finish = event.response.status;
        if (event.response.error) got.error = { name: event.response.error.code, message: event.response.error.message };
        if (event.response.usage) {
          got.usage = {
            input: event.response.usage.input_tokens,
            output: event.response.usage.output_tokens,
            reasoning: event.response.usage.output_tokens_details?.reasoning_tokens ?? null,
          };
        }
        break;
    }
  }
}
