"""The Python packages `openai` and `openai-agents` with the Responses API, in front of a server.

Arguments: the base URL and the key. Every event is also validated by the models that the packages
`openai` and `openresponses-types` make of the published schemas.
"""

import asyncio
import json
import sys
import urllib.request

import openresponses_types
from agents import Agent, Runner, function_tool, set_default_openai_client, set_tracing_disabled
from openai import AsyncOpenAI, BadRequestError, OpenAI
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import BaseModel, TypeAdapter

BASE_URL, KEY = sys.argv[1:]
CALLS = '!tool get_weather {"city":"Muscat"}\n!tool get_weather {"city":"Nizwa"}'
ANSWER = "get_weather answered: 38 in Muscat\nget_weather answered: 38 in Nizwa"
WEATHER = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather of a city.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
    "strict": True,
}
EVENT = TypeAdapter(ResponseStreamEvent)


class City(BaseModel):
    city: str


def read_events(fields):
    body = json.dumps({"model": "svc", "stream": True, **fields}).encode()
    headers = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
    request = urllib.request.Request(f"{BASE_URL}/responses", body, headers)
    with urllib.request.urlopen(request) as reply:
        text = reply.read().decode()
    frames = [frame for frame in text.split("\n\n") if frame.startswith("event: ")]
    assert text.endswith("data: [DONE]\n\n")
    return [json.loads(frame.split("data: ", 1)[1]) for frame in frames]


def name_model(kind):
    """`response.output_item.added` is ResponseOutputItemAddedStreamingEvent."""
    words = kind.replace(".", "_").split("_")
    return "".join(word.capitalize() for word in words) + "StreamingEvent"


def check_schemas():
    asked = [
        {"input": "Hello there"},
        {"input": f"!say One moment.\n{CALLS}", "tools": [WEATHER]},
        {"input": "!tokens 40", "max_output_tokens": 5},
        {"input": "!cut"},
        {"input": "Hello", "text": {"format": {"type": "json_object"}}, "metadata": {"a": "b"}},
        {"input": "Hello", "reasoning": {"effort": "low"}, "instructions": "Be brief."},
    ]
    seen = set()
    for fields in asked:
        for at, event in enumerate(read_events(fields)):
            kind = event["type"]
            assert event["sequence_number"] == at, event
            getattr(openresponses_types, name_model(kind)).model_validate(event)
            if kind == "response.failed":
                # OpenAI lists its own codes; Open Responses leaves them to the server.
                assert event["response"]["error"]["code"] == "upstream_error", event
                event["response"]["error"]["code"] = "server_error"
            EVENT.validate_python(event)
            seen.add(kind)
    ends = {"response.completed", "response.incomplete", "response.failed", "error"}
    assert ends <= seen and len(seen) == 14, seen


def check_openai(client):
    response = client.responses.create(model="svc", input="Hello", instructions="Be brief.")
    assert response.output_text == "You said: Hello", response
    Response.model_validate(response.model_dump())
    openresponses_types.ResponseResource.model_validate(json.loads(response.model_dump_json()))
    with client.responses.stream(model="svc", input=CALLS, tools=[WEATHER]) as stream:
        deltas = [one for one in stream if one.type == "response.function_call_arguments.delta"]
        calls = stream.get_final_response().output
    assert len(deltas) > 2 and [json.loads(one.arguments)["city"] for one in calls] == [
        "Muscat",
        "Nizwa",
    ]
    parsed = client.responses.parse(model="svc", input="Where?", text_format=City)
    assert isinstance(parsed.output_parsed, City), parsed
    talk = [{"role": "user", "content": CALLS}, *calls]
    for call in calls:
        text = f"38 in {json.loads(call.arguments)['city']}"
        talk.append({"type": "function_call_output", "call_id": call.call_id, "output": text})
    again = client.responses.create(model="svc", input=talk, tools=[WEATHER])
    assert again.output_text == ANSWER, again
    try:
        client.responses.create(model="svc", input="Hello", background=True)
    except BadRequestError as error:
        assert error.code == "invalid_request" and error.param == "background", error
    else:
        raise AssertionError("background was not refused")


@function_tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    return f"38 in {city}"


async def check_agents():
    set_default_openai_client(AsyncOpenAI(base_url=BASE_URL, api_key=KEY))
    set_tracing_disabled(True)
    agent = Agent(name="Guide", instructions="Be brief.", model="svc", tools=[get_weather])
    first = await Runner.run(agent, f"!say One moment.\n{CALLS}")
    assert first.final_output == ANSWER, first.final_output
    more = [*first.to_input_list(), {"role": "user", "content": "And now?"}]
    assert (await Runner.run(agent, more)).final_output == "You said: And now?"
    streamed = Runner.run_streamed(agent, CALLS)
    kinds = [event.type async for event in streamed.stream_events()]
    assert streamed.final_output == ANSWER and len(kinds) > 5, kinds
    typed = Agent(name="Guide", model="svc", output_type=City)
    assert isinstance((await Runner.run(typed, "Where?")).final_output, City)


check_schemas()
check_openai(OpenAI(base_url=BASE_URL, api_key=KEY, max_retries=0))
asyncio.run(check_agents())
print("all well")
