// Requests that register a tool or a revision: their schemas and validation.
import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { named, Uuid } from "../../../http/index.ts";
import type { UrlCheck } from "../../../net/index.ts";
import { apiError } from "../../../platform/errors.ts";
import { FilledText, maybe, oneOf } from "../../../platform/schema.ts";
import { URL_CHARACTERS_MAX } from "../../../platform/text.ts";
import { RISKS } from "../contract.ts";
import type { CheckSchema } from "../json-schema/check.ts";
import { type StoredRevision, TOOL_NAME } from "../revision.ts";

const TITLE_CHARACTERS_MAX = 256;
/** Maximum description; the model reads it in every round. */
const DESCRIPTION_CHARACTERS_MAX = 4_096;
const TIMEOUT_MS = 30_000;
const TIMEOUT_MS_MIN = 1_000;
const TIMEOUT_MS_MAX = 120_000;

const strict = { additionalProperties: false };
/** Name whose path would be that of connections. */
const RESERVED = "connections";

const ENDPOINT = "https://api.example.com/letters";
const PARAMETERS = {
  type: "object",
  properties: { to: { type: "string" }, text: { type: "string", maxLength: 4000 } },
  required: ["to", "text"],
  additionalProperties: false,
};

const optional = <S extends TSchema>(schema: S) => Type.Optional(maybe(schema));

const fields = {
  description: FilledText(
    "What the tool does and when to use it, as the model reads it.",
    DESCRIPTION_CHARACTERS_MAX,
  ),
  parameters: Type.Unsafe<Record<string, unknown>>(
    Type.Object(
      {},
      {
        description:
          "The arguments: JSON Schema 2020-12 of type object, at most 32 KB and 16 levels deep, " +
          "without remote `$ref`.",
        examples: [PARAMETERS],
      },
    ),
  ),
  endpoint: Type.String({
    description:
      "Receives POST with the arguments as JSON: an https URL of a public DNS name, or a place " +
      "that the operator has opened.",
    minLength: 1,
    maxLength: URL_CHARACTERS_MAX,
    examples: [ENDPOINT],
  }),
  risk: optional(
    oneOf(
      RISKS,
      "What a call can do: `read` changes nothing, `write` waits for an approval unless the " +
        'policy says otherwise, `irreversible` always waits. Null: "write".',
    ),
  ),
  connection_id: optional(Uuid("The connection whose secret is sent with every call. Null: none.")),
  timeout_ms: optional(
    Type.Integer({
      description: "The longest that a call may take, in milliseconds. Null: 30000.",
      minimum: TIMEOUT_MS_MIN,
      maximum: TIMEOUT_MS_MAX,
    }),
  ),
  external_content: optional(
    Type.Boolean({
      description:
        "false: only if nothing that the tool answers was written by strangers. Results of " +
        "others mark their run as one that has read content from outside. Null: true.",
    }),
  ),
  idempotent: optional(
    Type.Boolean({
      description:
        "true: the endpoint does a call once, however often it arrives with the same " +
        "`Idempotency-Key`, so that a write whose outcome is unknown is sent again by itself. " +
        "An irreversible call never is. Null: false.",
    }),
  ),
  title: optional(FilledText("A name for people. Null: none.", TITLE_CHARACTERS_MAX)),
};

const example = {
  description: "Sends a letter on paper to a person.",
  parameters: PARAMETERS,
  endpoint: ENDPOINT,
  risk: "irreversible",
};

/** agents.endpoints.tools.post_tools */
export const NewTool = Type.Object(
  {
    name: named(
      Type.String({
        description: "1 to 64 of `a-z 0-9 _`; not the name of a tool of the platform.",
        pattern: TOOL_NAME,
      }),
      "1 to 64 characters of a-z, 0-9 and _",
    ),
    ...fields,
  },
  {
    ...strict,
    $id: "NewTool",
    description: "A tool and its first revision; what is left out or null has its default.",
    examples: [{ name: "send_letter", ...example }],
  },
);
export type NewTool = Static<typeof NewTool>;

export const NewToolRevision = Type.Object(fields, {
  ...strict,
  $id: "NewToolRevision",
  description:
    "A whole revision: what is left out or null has its default, whatever it was in the last one.",
  examples: [{ ...example, description: "Sends a letter on paper to a person, within a day." }],
});
export type NewToolRevision = Static<typeof NewToolRevision>;

export interface InputChecks {
  checkUrl(text: string): UrlCheck;
  checkSchema: CheckSchema;
}

/** Validates what the schema cannot; returns the endpoint's host. */
export async function validateRevision(
  { parameters, endpoint }: NewToolRevision,
  account_id: string,
  { checkUrl, checkSchema }: InputChecks,
): Promise<string> {
  const problem = await checkSchema(parameters, account_id);
  // agents.errors.invalid_request
  if (problem !== null) {
    throw apiError("invalid_request", { param: "parameters", message: problem });
  }
  const checked = checkUrl(endpoint);
  // agents.errors.url_refused
  if (!checked.ok) throw apiError("url_refused", { param: "endpoint", message: checked.reason });
  return checked.url.host;
}

/** agents.errors.tool_exists: an account cannot replace a built-in tool. */
export function validateToolName(name: string, isBuiltin: (name: string) => boolean): void {
  const param = "name";
  if (name === RESERVED) {
    const message = `No tool can have the name \`${RESERVED}\`.`;
    throw apiError("invalid_request", { param, message });
  }
  if (!isBuiltin(name)) return;
  const message = `The platform has a tool of the name \`${name}\`: choose another.`;
  throw apiError("tool_exists", { param, message });
}

/** Reads a body as it is stored; the transaction sets the revision's number. */
export function readRevision(
  body: NewToolRevision,
  own: Pick<StoredRevision, "account_id" | "name" | "created_at">,
): StoredRevision {
  return {
    ...own,
    revision: 1,
    risk: body.risk ?? "write",
    title: body.title?.toWellFormed() ?? null,
    description: body.description.toWellFormed(),
    parameters: body.parameters,
    endpoint: body.endpoint,
    connection_id: body.connection_id ?? null,
    timeout_ms: body.timeout_ms ?? TIMEOUT_MS,
    external_content: body.external_content ?? true,
    idempotent: body.idempotent ?? false,
    mcp: null,
  };
}
