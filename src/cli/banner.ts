// What a start says: at most twelve lines, the last of which is a command that works when pasted.

export interface Start {
  version: string;
  /** Where it listens, without a path. */
  url: string;
  /** For people: where the data lies. */
  data: string;
  models: readonly { id: string; state: "on" | "off" | "blocked" }[];
  default_model: string;
  /** What stands beside chat, and what answers for it. */
  services: readonly { name: string; kind: string }[];
  /** Places that strangers' addresses may lead to although they are not public. */
  egress: { open: readonly string[] };
  /** Secrets that are shown now, the first one first; empty: there are keys already. */
  keys: readonly string[];
  /** File of a key that is not shown. */
  key_file: string | null;
}

const MODELS_SHOWN_MAX = 8;
const PLACES_SHOWN_MAX = 8;
const BODY = '{"messages":[{"role":"user","content":"Hello"}]}';

/** `notes` are lines about the keys. */
export function writeBanner(start: Start, notes: readonly string[]): string {
  const { url, models, services, egress } = start;
  const names = models.map(({ id, state }) => {
    const marks = [id === start.default_model ? "default" : "", state === "on" ? "" : state];
    const said = marks.filter(Boolean).join(", ");
    return said ? `${id} (${said})` : id;
  });
  const more = names.length > MODELS_SHOWN_MAX ? " …" : "";
  const headers = `-H ${writeBearer(start)} -H 'Content-Type: application/json'`;
  return [
    `wadi ${start.version}`,
    `address   ${url}/v1`,
    `document  ${url}/openapi.json`,
    `data      ${start.data}`,
    `models    ${names.slice(0, MODELS_SHOWN_MAX).join(" ")}${more}`,
    `services  ${services.map(({ name, kind }) => `${name} (${kind})`).join(" · ")}`,
    ...(egress.open.length === 0 ? [] : [`egress    open to ${listPlaces(egress.open)}`]),
    ...notes,
    "",
    `curl ${url}/v1/chat/completions ${headers} -d '${BODY}'`,
    "",
  ].join("\n");
}

function writeBearer({ keys, key_file }: Start): string {
  if (keys[0]) return `'Authorization: Bearer ${keys[0]}'`;
  // In double quotes the shell puts in the file's text, or the caller's own variable.
  const key = key_file === null ? "$KEY" : `$(cat '${key_file.replaceAll("'", "'\\''")}')`;
  return `"Authorization: Bearer ${key}"`;
}

function listPlaces(places: readonly string[]): string {
  const left = places.length - PLACES_SHOWN_MAX;
  const shown = places.slice(0, PLACES_SHOWN_MAX).join(" ");
  return left > 0 ? `${shown} and ${left} more` : shown;
}
