"""Messages, streams, tools, counts and errors by the package `anthropic`; its types judge them."""

import json
import sys

import anthropic
from anthropic.types import Message, MessageTokensCount, RawMessageStreamEvent
from pydantic import TypeAdapter

base, key = sys.argv[1:]
client = anthropic.Anthropic(base_url=base, api_key=key, max_retries=0)
EVENT = TypeAdapter(RawMessageStreamEvent)
MESSAGE = TypeAdapter(Message)
COUNT = TypeAdapter(MessageTokensCount)
TOOL = {
    "name": "get_weather",
    "description": "The weather of a city.",
    "input_schema": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
}
CALLS = '!say One moment.\n!tool get_weather {"city":"Muscat"}\n!tool get_weather {"city":"Nizwa"}'


def ask(content, **more):
    messages = content if isinstance(content, list) else [{"role": "user", "content": content}]
    return {"model": "svc", "max_tokens": 200, "messages": messages, **more}


def read_events(request):
    """Checks each event of the wire against the published type; pings and errors have none."""
    events = []
    with client.messages.with_streaming_response.create(**request, stream=True) as reply:
        for line in reply.iter_lines():
            if line.startswith("data: "):
                EVENT.validate_json(line[6:], strict=True)
                events.append(json.loads(line[6:])["type"])
    return events


raw = client.messages.with_raw_response.create(**ask("Hello there"))
MESSAGE.validate_json(raw.text(), strict=True)
reply = raw.parse()
assert raw.headers["request-id"] == raw.headers["x-request-id"], dict(raw.headers)

with client.messages.stream(**ask("Hello there")) as stream:
    streamed = "".join(stream.text_stream)
    final = stream.get_final_message()
assert final.usage.model_dump() == reply.usage.model_dump(), (final.usage, reply.usage)

called = client.messages.create(**ask(CALLS, tools=[TOOL]))
MESSAGE.validate_json(called.model_dump_json(), strict=True)
results = [
    {"type": "tool_result", "tool_use_id": block.id, "content": f"38 in {block.input['city']}"}
    for block in called.content
    if block.type == "tool_use"
]
history = [
    {"role": "user", "content": "How is the weather?"},
    {"role": "assistant", "content": called.content},
    {"role": "user", "content": results},
]
answered = client.messages.create(**ask(history, tools=[TOOL]))

counted = client.messages.with_raw_response.count_tokens(
    model="svc", messages=[{"role": "user", "content": "Hello there"}]
)
COUNT.validate_json(counted.text(), strict=True)

try:
    client.messages.create(**ask("!error upstream_rate_limited"))
    failure = None
except anthropic.APIStatusError as error:
    failure = [type(error).__name__, error.status_code, error.body["error"]["code"]]

print(
    json.dumps(
        {
            "said": reply.content[0].text,
            "streamed": streamed,
            "events": read_events(ask("Hi")),
            "call_events": read_events(ask(CALLS, tools=[TOOL])).count("content_block_start"),
            "stop_reason": called.stop_reason,
            "answer": answered.content[0].text,
            "counted": counted.parse().input_tokens == reply.usage.input_tokens,
            "failure": failure,
        }
    )
)
