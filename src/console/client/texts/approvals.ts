// Sentences of approvals: the inbox, and one that is opened.
import { count, writeCount } from "./plural.ts";

const list = new Intl.ListFormat("en", { type: "conjunction" });
const steps = (seqs: readonly number[]) =>
  `${seqs.length === 1 ? "step" : "steps"} ${list.format(seqs.map(String))}`;
const read = (tool: string | null | undefined) =>
  tool === null ? "the hook" : tool === "read_page" ? "a web page" : "content from outside";

export const approvals = {
  "approvals.waiting": (number: number) => `${number} waiting`,
  "approvals.list.waiting": "Waiting",
  "approvals.list.decided": "Decided today",
  "approvals.list.past": "Decided",
  "approvals.show": "Show",
  "approvals.filter.pending": "Waiting",
  "approvals.filter.decided": "Decided",
  "approvals.filter.all": "All",
  "approvals.back": "Back to the list",
  "approvals.empty":
    "No approvals are waiting. An agent asks here before a write or an irreversible call.",
  "approvals.empty.decided": "No approval has been decided yet.",
  "approvals.choose": "Choose an approval to see what its agent wants to do.",
  "approvals.missing": (id: string) => `There is no approval ${id}.`,
  "approvals.missing.list": "See all approvals",
  "approvals.asked": (ago: string) => `asked ${ago} ago by`,
  "approvals.version": (number: number) => `v${number}`,
  "approvals.left": (span: string) => `${span} left`,
  "approvals.over": "its time is over",
  "approvals.first": "Look at this first",
  "approvals.arguments": "Arguments",
  "approvals.arguments.as": "Show arguments as",
  "approvals.arguments.none": "The call has no arguments.",
  "approvals.arguments.more": (number: number) =>
    `The table shows the first ${number}. The JSON shows all.`,
  "approvals.form.table": "Table",
  "approvals.form.json": "JSON",
  "approvals.json.hidden": (codes: string) => `Hidden characters, shown as tags: ${codes}.`,
  "approvals.argument": "Argument",
  "approvals.value": "Value",
  "approvals.value.cut": (characters: number) => ` … ${writeCount(characters)} characters`,
  "approvals.source": "Where it comes from",
  "approvals.earlier": (ago: string) => `${ago} ago`,
  "approvals.why": "Why it asks",
  "approvals.outside": "What it read from outside",
  "approvals.outside.none": "It read nothing from outside in this run.",
  "approvals.outside.others": (seqs: readonly number[], isMore: boolean) =>
    `${seqs.length}${isMore ? " more" : ""} ${seqs.length === 1 ? "contains" : "contain"} none ` +
    `of these values: ${steps(seqs)}.`,
  "approvals.outside.missing": (seqs: readonly number[]) =>
    `Not searched, since it is long ago or too much: ${steps(seqs)}.`,
  "approvals.outside.hook": "The hook that started the run",
  "approvals.step": (seq: number) => `Step ${seq}`,
  "approvals.next": "What happens next",
  "approvals.facts": "Facts",
  "approvals.fact.run": "Run",
  "approvals.fact.input": "Input",
  "approvals.fact.account": "Account",
  "approvals.fact.started": "Started by",
  "approvals.fact.cost": "Cost so far",
  "approvals.fact.cost.of": (budget: string) => `of ${budget} SAR`,
  "approvals.fact.cost.sar": "SAR",
  "approvals.fact.cost.label": "Cost of the run against its budget",
  "approvals.fact.asked": "Asked",
  "approvals.fact.expires": "Expires",
  "approvals.fact.expires.in": (span: string) => `in ${span}`,
  "approvals.fact.sha": "Arguments, SHA-256",
  "approvals.fact.endpoint": "Sent to",
  "approvals.fact.deciders": "May decide",
  "approvals.trigger": (name: string) => `Trigger ${name}`,
  "approvals.started.operator": (name: string) => `Operator ${name}`,
  "approvals.started.key": (name: string) => `key ${name}`,
  "approvals.deciders.all": (account: string) =>
    `Operators, approvers, and keys of ${account} that may approve.`,
  "approvals.deciders.barred": (names: readonly string[]) =>
    `Not the ${names.length === 1 ? "key" : "keys"} ${list.format(names)}, which started the run.`,
  "approvals.type": "Type",
  "approvals.to_approve": "to approve",
  "approvals.again": "Press A again to approve",
  approve: "Approve",
  reject: "Reject",
  answer: "Answer instead",
  reason: "Reason",
  "reason.hint": "The agent reads it. At most 1,000 characters.",
  "answer.label": "Message",
  "answer.hint": "The agent reads this in place of the tool’s result.",
  send: "Send",
  cancel: "Keep waiting",
  "approvals.next.approve":
    "The call is sent once, with exactly these arguments. The run goes on with its result.",
  "approvals.next.again":
    "The call is sent again, with exactly these arguments. The run goes on with its result.",
  "approvals.next.reject":
    "Nothing is sent. The agent reads your reason and goes on. The same call isn’t asked again.",
  "approvals.next.answer": "Nothing is sent. The agent reads your text in place of the result.",
  "approvals.next.nobody": "Nobody decides",
  "approvals.next.continue": (at: string) =>
    `At ${at} the call expires. Nothing is sent. The agent is told so and goes on.`,
  "approvals.next.fail": (at: string) =>
    `At ${at} the call expires. Nothing is sent. The run fails.`,
  "approvals.next.expire": (at: string) => `At ${at} the call expires. Nothing is sent.`,
  "approvals.act": "The decision was not stored.",
  "approvals.done.approved": "Approved. The run goes on.",
  "approvals.done.rejected": "Rejected. The run goes on.",
  "approvals.done.answered": "Answered. The run goes on.",
  "approvals.open_run": "Open run",
  "approvals.gone.approved": (who: string, at: string) =>
    `This approval was decided by ${who} at ${at}: approved.`,
  "approvals.gone.rejected": (who: string, at: string) =>
    `This approval was decided by ${who} at ${at}: rejected.`,
  "approvals.gone.expired": (at: string) => `Nobody decided. The approval expired at ${at}.`,
  "approvals.gone.closed": "Its run ended before anybody decided.",
  "approvals.gone.reason": (text: string) => `Reason: ${text}`,
  "approvals.by.key": (id: string) => `key ${id}`,
  "approvals.by.link": (person: string, operator: string) => `${person} (link of ${operator})`,
  "approvals.past.approved": (who: string) => `Approved by ${who}`,
  "approvals.past.rejected": (who: string) => `Rejected by ${who}`,
  "approvals.past.expired": "Expired, nobody decided",
  "approvals.past.closed": "Closed with its run",
  "risk.read": "Read",
  "risk.write": "Write",
  "risk.irreversible": "Irreversible",
  "risk.read.says": "It only reads.",
  "risk.write.says": "It changes something.",
  "risk.irreversible.says": "Once done, it can’t be undone.",
  "why.irreversible": (tool: string) =>
    `${tool} is irreversible. Every call of an irreversible tool asks.`,
  "why.write": "The agent’s policy lets no write run without a person.",
  "why.listed": (tool: string) => `The agent’s policy names ${tool}: each of its calls asks.`,
  "why.external_content": (number: number) =>
    number === 0
      ? "An earlier run of this thread read content from outside."
      : `The run read content from outside, ${count(number, "source", "sources")}, ` +
        "before it asked.",
  "why.outcome_unknown":
    "An earlier try was sent, and nobody knows whether it was done. Approving sends it again.",
  "source.input": "in the run’s input",
  "source.model": "written by the model",
  "source.same": (span: string) => `same as ${span} ago`,
  "source.inside": (tool: string, seq: number) => `in a result of ${tool}, step ${seq}`,
  "source.hook": "only in the hook that started the run",
  "source.outside": (tool: string, seq: number) =>
    tool === "read_page"
      ? `only in a page from outside, step ${seq}`
      : `only in content from outside, step ${seq}`,
  "first.new_outside": (names: readonly string[]) =>
    names.length === 1
      ? `${names[0]} is new, and it comes from outside.`
      : `${list.format(names)} are new, and they come from outside.`,
  "first.new_outside.says": (ago: string, tool: string | null | undefined) =>
    `The most similar approved call, ${ago} ago, had another value. This one appears only in ` +
    `${read(tool)} that the run read.`,
  "first.outside": (names: readonly string[]) =>
    names.length === 1
      ? `${names[0]} comes from outside.`
      : `${list.format(names)} come from outside.`,
  "first.outside.says": (tool: string | null | undefined) =>
    `The value appears only in ${read(tool)} that the run read, and in no input of the run.`,
  "first.changed": (names: readonly string[]) =>
    names.length === 1 ? `${names[0]} is new.` : `${list.format(names)} are new.`,
  "first.changed.says": (ago: string) =>
    `The most similar approved call, ${ago} ago, had another value.`,
  "first.unknown": "An earlier try may have been done.",
  "first.unknown.says": "It was sent, and no answer came. Ask the receiver before you approve.",
  "first.late": "Little time is left.",
  "first.late.says": (span: string) => `The approval expires in ${span}.`,
  "first.hidden": (names: readonly string[]) =>
    names.length === 1
      ? `${names[0]} contains hidden characters.`
      : `${list.format(names)} contain hidden characters.`,
  "first.hidden.says": "They are shown as tags. The text may read differently elsewhere.",
  "share.open": "Ask a teammate",
  "share.title": (tool: string) => `Ask a teammate to decide “${tool}”?`,
  "share.says":
    "The link shows this approval and nothing else. It opens once, and ends with the decision.",
  "share.name": "Teammate’s name",
  "share.asked": (person: string, until: string) => `${person} was asked, link until ${until}`,
  "share.name.hint": "Decisions name the person, and you as who made the link.",
  "share.make": "Create link",
  "share.keep": "Cancel",
  "share.made": (person: string, until: string) =>
    `Send this link to ${person}. It opens once, until ${until}.`,
  "share.made.title": "Copy the link",
  "share.made.local":
    "It opens on this machine only: set operator.public_url in wadi.toml for other ones.",
  "share.link": "Link",
  "share.copy": "Copy",
  "share.done": "Done",
} as const;
