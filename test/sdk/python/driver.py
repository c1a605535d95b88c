"""Reads streams with an official Python SDK and prints, a line of JSON for each,
what the SDK gave its user: ../driver.mjs in Python, with the same command line,
output and refusal to judge.
"""
import json
import os
import sys


class Left(Exception):
    """The user left."""


class Got:
    """What the SDK gave. A piece is an item that brought something."""

    def __init__(self, leave):
        self.leave = leave
        self.text = self.reasoning = ""
        self.tools, self.pieces, self.finish, self.usage, self.error = [], 0, None, None, None

    def piece(self):
        self.pieces += 1
        if self.pieces == self.leave:
            raise Left()

    def line(self):
        return json.dumps({k: v for k, v in vars(self).items() if k != "leave"}, ensure_ascii=False)


def read_openai(url, headers, got):
    import openai

    client = openai.OpenAI(base_url=url + "/v1", api_key="test", default_headers=headers, max_retries=0)
    with client.chat.completions.create(
        model="mock",
        messages=[{"role": "user", "content": "hello"}],
        stream=True,
        stream_options={"include_usage": True},
    ) as stream:
        for chunk in stream:
            if chunk.usage:
                got.usage = {"input": chunk.usage.prompt_tokens, "output": chunk.usage.completion_tokens}
            for choice in chunk.choices[:1]:
                take_choice(choice, got)


def take_choice(choice, got):
    got.finish = choice.finish_reason or got.finish
    delta = choice.delta
    thought = getattr(delta, "reasoning_content", None) or getattr(delta, "reasoning", None)
    for call in delta.tool_calls or []:
        while call.index >= len(got.tools):
            got.tools.append({"name": "", "args": ""})
        got.tools[call.index]["name"] += call.function.name or ""
        got.tools[call.index]["args"] += call.function.arguments or ""
    got.text += delta.content or ""
    got.reasoning += thought or ""
    if delta.content or thought or delta.tool_calls:
        got.piece()


def read_responses(url, headers, got):
    import openai

    client = openai.OpenAI(base_url=url + "/v1", api_key="test", default_headers=headers, max_retries=0)
    with client.responses.create(model="mock", input="hello", stream=True) as stream:
        for event in stream:
            take_response(event, got)


def read_resumed(url, headers, got):
    """The SDK's own way to go on: it leaves after three pieces, and retrieves the rest."""
    import openai

    client = openai.OpenAI(base_url=url + "/v1", api_key="test", default_headers=headers, max_retries=0)
    with client.responses.create(model="mock", input="hello", stream=True) as stream:
        for event in stream:
            if event.type == "response.created":
                answer = event.response.id
            take_response(event, got)
            if got.pieces == 3:
                break
    with client.responses.retrieve(answer, stream=True, starting_after=event.sequence_number) as stream:
        for event in stream:
            take_response(event, got)


def take_response(event, got):
    match event.type:
        case "error":  # handed out as an event, not raised
            got.error = {"name": "error event", "message": event.message, "status": None}
        case "response.output_text.delta":
            got.text += event.delta
            got.piece()
        case "response.reasoning_text.delta" | "response.reasoning_summary_text.delta":
            got.reasoning += event.delta
            got.piece()
        case "response.output_item.added":
            if event.item.type == "function_call":
                got.tools.append({"name": event.item.name, "args": ""})
        case "response.function_call_arguments.delta":
            got.tools[-1]["args"] += event.delta
            got.piece()
        case "response.completed" | "response.incomplete" | "response.failed":
            got.finish = event.response.status
            if event.response.error:
                got.error = {"name": event.response.error.code, "message": event.response.error.message, "status": None}
            if event.response.usage:
                got.usage = {"input": event.response.usage.input_tokens, "output": event.response.usage.output_tokens}


def read_anthropic(url, headers, got):
    import anthropic

    client = anthropic.Anthropic(base_url=url, api_key="test", default_headers=headers, max_retries=0)
    with client.messages.create(
        model="mock", max_tokens=4096, messages=[{"role": "user", "content": "hello"}], stream=True
    ) as stream:
        for event in stream:
            take_message(event, got)


def take_message(event, got):
    match event.type:
        case "message_start":
            got.usage = {"input": event.message.usage.input_tokens, "output": None}
        case "content_block_start":
            if event.content_block.type == "tool_use":
                got.tools.append({"name": event.content_block.name, "args": ""})
        case "content_block_delta":
            delta = event.delta
            got.text += getattr(delta, "text", "")
            got.reasoning += getattr(delta, "thinking", "")
            piece = getattr(delta, "partial_json", "")
            if piece:
                got.tools[-1]["args"] += piece
            if piece or getattr(delta, "text", "") or getattr(delta, "thinking", ""):
                got.piece()
        case "message_delta":
            got.finish = event.delta.stop_reason
            if event.usage:
                got.usage = {**(got.usage or {}), "output": event.usage.output_tokens}


READERS = {
    "py-openai": read_openai,
    "py-openai-responses": read_responses,
    "py-openai-responses-resumed": read_resumed,
    "py-anthropic": read_anthropic,
}


def main(args):
    leave = 0
    if args[0] == "--leave":
        leave, args = int(args[1]), args[2:]
    name, url, *requests = args
    extra = json.loads(os.environ.get("HEADERS", "{}"))
    for settings in requests:
        got = Got(leave)
        try:
            READERS[name](url, {"x-weir-mock": settings, **extra}, got)
        except Exception as e:
            got.error = {"name": type(e).__name__, "message": str(e), "status": getattr(e, "status_code", None)}
        print(got.line(), flush=True)
    if leave:  # stay, so that it was the SDK that closed the connection
        sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1:])
