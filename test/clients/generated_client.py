"""Chats, starts a run and reads it by a client that was generated from the document."""

import json
import sys
import time

from client import AuthenticatedClient
from client.api.agents import create_agent
from client.api.chat import create_chat_completion
from client.api.runs import get_run, list_run_steps, list_runs, start_run
from client.models import (
    AssistantStep,
    ChatReply,
    ChatRequest,
    ChatSystemMessage,
    ChatTextPart,
    ChatUserMessage,
    ListRunsStatus,
    NewAgent,
    RunStatus,
    StartRun,
    StartRunInputType0,
    ToolCallStep,
    ToolResultStep,
)

base, key = sys.argv[1:]
client = AuthenticatedClient(base_url=base, token=key, raise_on_unexpected_status=True)

request = ChatRequest(
    messages=[
        ChatSystemMessage(role="system", content="Be brief."),
        ChatUserMessage(role="user", content=[ChatTextPart(type_="text", text="Hello")]),
    ]
)
reply = create_chat_completion.sync(client=client, body=request)
assert isinstance(reply, ChatReply), reply

wish = NewAgent(name="Clerk", system_prompt="Be brief.", tools=["calculator"])
agent = create_agent.sync(client=client, body=wish)
message = '!tool calculator {"expression":"6*7"}'
run = start_run.sync(agent.id, client=client, body=StartRun(input_=StartRunInputType0(message=message)))
while run.status in (RunStatus.QUEUED, RunStatus.RUNNING):
    time.sleep(0.01)
    run = get_run.sync(run.id, client=client)


def tell(step):
    match step:
        case AssistantStep():
            return "says"
        case ToolCallStep():
            return f"calls {step.data.name}"
        case ToolResultStep():
            return f"{step.data.name} came to {step.data.outcome}"
        case _:
            return step.kind


page = list_runs.sync(client=client, status=ListRunsStatus.SUCCEEDED, limit=5)
steps = list_run_steps.sync(run.id, client=client)
told = {
    "said": reply.choices[0].message.content,
    "status": run.status,
    "runs": len(page.data),
    "steps": [tell(step) for step in steps.data],
}
print(json.dumps(told))
