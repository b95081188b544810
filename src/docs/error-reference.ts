// The reference of error codes, generated from the catalogue that the program answers with.
import { ERROR_CODES, type ErrorCode, publicCode, typeOf } from "../platform/errors.ts";

export function writeErrorReference(): string {
  return `# Errors

An error reply is JSON: \`{"error":{"message","type","code","param"}}\`. \`param\` names the
field at fault. Decide by \`code\`, or by the status where the reply has no code. \`message\` is for
people and may change. Codes are only ever added. Every reply carries \`x-request-id\`: quote it
when you ask for help.

Chat, embeddings and search also send \`request_id\`, \`statusCode\`, \`message\` and \`code\`
beside \`error\`. The agent service sends \`error\` alone. Where the table says "no code", the
agent service leaves \`code\` out. So it does for invalid fields, with status 400.

Retry 429, 502, 503 and 504. Wait as long as \`Retry-After\` says; don't retry a reply with
\`x-should-retry: false\`.

| code | status | type | agent service | meaning |
|---|---|---|---|---|
${listRows().join("\n")}
`;
}

function listRows(): string[] {
  return (Object.keys(ERROR_CODES) as ErrorCode[])
    .filter((code) => publicCode(code, "gateway") === code)
    .map((code) => {
      const entry: { status: number; also?: number; message: string } = ERROR_CODES[code];
      const { status, also, message } = entry;
      const agents = publicCode(code, "agents") === null ? "no code" : "";
      const statuses = also === undefined ? `${status}` : `${status} or ${also}`;
      return `| \`${code}\` | ${statuses} | \`${typeOf(status)}\` | ${agents} | ${message} |`;
    });
}
