import OpenAI from "openai";

export async function read({ url, headers, got }) {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "test", defaultHeaders: headers, maxRetries: 0 });
  const stream = await client.chat.completions.create({
    model: "mock",
    messages: [{ role: "user", content: "hello" }],
    stream: true,
    stream_options: { include_usage: true },
  });
  for await (const chunk of stream) {
    if (chunk.usage) {
      got.usage = {
        input: chunk.usage.prompt_tokens,
        output: chunk.usage.completion_tokens,
        reasoning: chunk.usage.completion_tokens_details?.reasoning_tokens ?? null,
      };
    }
    const choice = chunk.choices[0];
    if (!choice) continue;
    const { content, reasoning_content, reasoning, tool_calls } = choice.delta;
    if (content) (got.text += content), got.pieces++;
    if (reasoning_content ?? reasoning) (got.reasoning += reasoning_content ?? reasoning), got.pieces++;
    for (const call of tool_calls ?? []) {
      const tool = (got.tools[call.index] ??= { name: "", args: "" });
      if (call.function?.name) tool.name += call.function.name;
      if (call.function?.arguments) tool.args += call.function.arguments;
      if (call.function?.arguments) got.pieces++;
    }
    if (choice.finish_reason) got.finish = choice.finish_reason;
  }
}
