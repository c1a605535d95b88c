// The SDK's own way to go on with an answer: it leaves the stream after three
// pieces of text, and retrieves the rest by the number of the last event.
import OpenAI from "openai";

export async function read({ url, headers, got }) {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "test", defaultHeaders: headers, maxRetries: 0 });
  let id;
  let last;
  const take = (event) => {
    last = event.sequence_number;
    id ??= event.response?.id;
    switch (event.type) {
      case "error": // handed out as an event, not raised
        got.error = { name: "error event", message: event.message };
        break;
      case "response.output_text.delta":
        (got.text += event.delta), got.pieces++;
        break;
      case "response.completed":
        got.finish = event.response.status;
        got.usage = {
          input: event.response.usage.input_tokens,
          output: event.response.usage.output_tokens,
          reasoning: event.response.usage.output_tokens_details?.reasoning_tokens ?? null,
        };
        break;
    }
  };
  for await (const event of await client.responses.create({ model: "mock", input: "hello", stream: true })) {
    take(event);
    if (got.pieces === 3) break; // closes the connection
  }
  for await (const event of await client.responses.retrieve(id, { stream: true, starting_after: last })) take(event);
}
