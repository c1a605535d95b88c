// The AI SDK, which parses for itself and hands errors out as parts.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { streamText } from "ai";

export async function read({ url, headers, got, signal }) {
  const service = createOpenAICompatible({ name: "mock", baseURL: `${url}/v1`, apiKey: "test", headers, includeUsage: true });
  const { fullStream } = streamText({
    model: service("mock"),
    prompt: "hello",
    maxRetries: 0,
    abortSignal: signal,
    onError: () => {}, // it would print what is handed out below
  });
  const tools = new Map(); // id → tool
  for await (const part of fullStream) {
    switch (part.type) {
      case "text-delta":
        if (part.text) (got.text += part.text), got.pieces++;
        break;
      case "reasoning-delta":
        if (part.text) (got.reasoning += part.text), got.pieces++;
        break;
      case "tool-input-start":
        tools.set(part.id, { name: part.toolName, args: "" });
        got.tools.push(tools.get(part.id));
        break;
      case "tool-input-delta":
        tools.get(part.id).args += part.delta;
        if (part.delta) got.pieces++;
        break;
      case "error": {
        const { name, message, statusCode } = part.error instanceof Error ? part.error : { name: "error part", message: JSON.stringify(part.error) };
        got.error = { name, message: String(message), status: statusCode ?? null };
        break;
      }
      case "finish":
        got.finish = part.finishReason;
        got.usage = {
          input: part.totalUsage.inputTokens ?? null,
          output: part.totalUsage.outputTokens ?? null,
          reasoning: part.totalUsage.outputTokenDetails?.reasoningTokens ?? null,
        };
        break;
    }
  }
}
