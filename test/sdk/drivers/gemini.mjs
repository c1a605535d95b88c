import { GoogleGenAI } from "@google/genai";

export async function read({ url, headers, got, signal }) {
  const client = new GoogleGenAI({ apiKey: "test", httpOptions: { baseUrl: url, headers } });
  const stream = await client.models.generateContentStream({ model: "mock", contents: "hello", config: { abortSignal: signal } });
  for await (const chunk of stream) {
    const candidate = chunk.candidates?.[0];
    for (const part of candidate?.content?.parts ?? []) {
      if (part.functionCall) {
        got.tools.push({ name: part.functionCall.name, args: JSON.stringify(part.functionCall.args) });
        got.pieces++;
      } else if (part.text) {
        if (part.thought) got.reasoning += part.text;
        else got.text += part.text;
        got.pieces++;
      }
    }
    if (candidate?.finishReason) got.finish = candidate.finishReason;
    const usage = chunk.usageMetadata;
    if (usage) {
      got.usage = {
        input: usage.promptTokenCount ?? null,
        output: usage.candidatesTokenCount ?? null,
        reasoning: usage.thoughtsTokenCount ?? null,
      };
    }
  }
}
