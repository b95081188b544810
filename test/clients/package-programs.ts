// The same program for both client packages: it does what each line of its input says, and prints
// a line of JSON.

/** What the programs do; `follow` prints each status as a line before its result. */
export interface Task {
  do: "chat" | "stream" | "start" | "follow" | "live" | "list" | "create" | "decide" | "verify";
  base?: string;
  key?: string;
  agent?: string;
  run?: string;
  approver?: string;
  idempotency_key?: string | null;
  message?: string;
  /** Both in milliseconds. */
  delay?: number;
  idle?: number;
  secret?: string;
  headers?: Readonly<Record<string, string>>;
  body?: string;
}

/** Written from the types alone; each `never` is a missing variant. */
export const TYPESCRIPT = `
import { createWadi, type RunEvent, type SignedEvent, verifyWebhook, WadiError, WebhookError } from "@wadi/client";

const messages = [{ role: "user" as const, content: "Hello" }];

function tell(event: RunEvent): string {
  switch (event.type) {
    case "run.status":
      console.log(event.status);
      return event.status;
    case "step.completed":
      return \`\${event.step.seq} \${event.step.kind}\`;
    case "approval.requested":
    case "approval.decided":
      return \`\${event.type} \${event.approval.tool}\`;
    case "message.delta":
      return event.text ?? "";
    case "message.snapshot":
      return event.text;
    case "run.completed":
    case "run.failed":
      return event.run.output?.message ?? "";
    default:
      return event satisfies never;
  }
}

function name(event: SignedEvent): string {
  return event.type === "run.completed" ? \`\${event.type} \${event.data.run.status}\` : event.type;
}

async function perform(task: any): Promise<unknown> {
  const wadi = createWadi({ baseUrl: task.base ?? "http://x", key: task.key ?? "", delayMs: task.delay ?? 1, idleMs: task.idle, reconnects: 1000 });
  switch (task.do) {
    case "chat":
      return (await wadi.createChatCompletion({ body: { messages } })).choices[0]!.message.content;
    case "stream": {
      const parts: string[] = [];
      for await (const { choices } of wadi.createChatCompletionStream({ body: { messages: [{ role: "user", content: task.message }] } })) {
        for (const { delta } of choices) if (delta.content) parts.push(delta.content);
      }
      return parts;
    }
    case "start": {
      const options = task.idempotency_key ? { idempotencyKey: task.idempotency_key } : {};
      const input = { id: task.agent, body: { input: { message: task.message } } };
      return (await wadi.startRun(input, options)).id;
    }
    case "follow": {
      const told: string[] = [];
      for await (const event of wadi.followRun({ id: task.run })) told.push(tell(event));
      return told;
    }
    case "live": {
      const texts: string[] = [];
      let text = "";
      const approver = createWadi({ baseUrl: task.base, key: task.approver });
      for await (const event of wadi.followRun({ id: task.run, deltas: "true" })) {
        if (event.type === "message.snapshot") text = event.text;
        if (event.type === "message.delta") text += event.text ?? "";
        if (event.type === "step.completed" && text) texts.push(text);
        if (event.type === "step.completed") text = "";
        if (event.type === "approval.requested") await approver.approveApproval({ id: event.approval.id });
      }
      return texts;
    }
    case "list":
      return (await wadi.listRuns({ limit: 5, metadata: { ticket: task.message } })).data.map(({ id }) => id);
    case "create":
      return (await wadi.createAgent({ body: { name: "A", system_prompt: "B" } })).id;
    case "decide": {
      const { data } = await wadi.listApprovals({ status: "pending" });
      for (const { id } of data) await wadi.approveApproval({ id });
      return data.length;
    }
    case "verify":
      return name(await verifyWebhook(task.secret, task.headers, task.body));
  }
}
for await (const line of console) {
  if (line === "") break;
  const result = await perform(JSON.parse(line)).catch((error: unknown) => {
    if (error instanceof WebhookError) return { refused: error.message };
    if (!(error instanceof WadiError)) throw error;
    return { status: error.status, code: error.code, retry_after: error.retryAfter };
  });
  console.log(JSON.stringify({ result }));
}
`;

export const PYTHON = `
import json, sys
from wadi_client import Wadi, WadiError, WebhookError, verify_webhook

def tell(event):
    match event["type"]:
        case "run.status":
            print(event["status"], flush=True)
            return event["status"]
        case "step.completed":
            return f"{event['step']['seq']} {event['step']['kind']}"
        case "approval.requested" | "approval.decided":
            return f"{event['type']} {event['approval']['tool']}"
        case _:
            return event["run"]["output"]["message"]

def perform(task):
    wadi = Wadi(task.get("base", "http://x"), task.get("key", ""), delay=task.get("delay", 1) / 1000, idle=task.get("idle", 60000) / 1000, reconnects=1000)
    messages = [{"role": "user", "content": task.get("message", "Hello")}]
    match task["do"]:
        case "chat":
            return wadi.create_chat_completion({"messages": messages})["choices"][0]["message"]["content"]
        case "stream":
            parts = []
            for chunk in wadi.create_chat_completion_stream({"messages": messages}):
                parts += [one["delta"]["content"] for one in chunk["choices"] if one["delta"].get("content")]
            return parts
        case "start":
            body = {"input": {"message": task["message"]}}
            return wadi.start_run(task["agent"], body, idempotency_key=task.get("idempotency_key"))["id"]
        case "follow":
            return [tell(event) for event in wadi.follow_run(task["run"])]
        case "live":
            texts, text = [], ""
            approver = Wadi(task["base"], task["approver"])
            for event in wadi.follow_run(task["run"], deltas="true"):
                match event["type"]:
                    case "message.snapshot":
                        text = event["text"]
                    case "message.delta":
                        text += event.get("text", "")
                    case "step.completed":
                        texts += [text] if text else []
                        text = ""
                    case "approval.requested":
                        approver.approve_approval(event["approval"]["id"])
            return texts
        case "list":
            return [one["id"] for one in wadi.list_runs(limit=5, metadata={"ticket": task["message"]})["data"]]
        case "create":
            return wadi.create_agent({"name": "A", "system_prompt": "B"})["id"]
        case "decide":
            data = wadi.list_approvals(status="pending")["data"]
            for one in data:
                wadi.approve_approval(one["id"])
            return len(data)
        case "verify":
            event = verify_webhook(task["secret"], task["headers"], task["body"].encode())
            return f"{event['type']} {event['data']['run']['status']}"

for line in sys.stdin:
    try:
        result = perform(json.loads(line))
    except WebhookError as error:
        result = {"refused": str(error)}
    except WadiError as error:
        result = {"status": error.status, "code": error.code, "retry_after": error.retry_after}
    print(json.dumps({"result": result}), flush=True)
`;

/** Evaluates all annotations and prints how many classes have them. */
export const ANNOTATIONS = `
import typing, wadi_client
from wadi_client import operations, types

classes = [one for one in vars(types).values() if isinstance(one, type)]
for one in classes:
    typing.get_type_hints(one)
for owner in (operations.Operations, wadi_client.Wadi):
    for method in vars(owner).values():
        if callable(method):
            typing.get_type_hints(method)
typing.get_type_hints(wadi_client.verify_webhook)
print(len(classes))
`;
