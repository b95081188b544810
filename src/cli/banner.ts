// The lines that a started server prints, with a command to paste and the way to the console.
import type { ModelState } from "../admin/index.ts";

/** A start as it is printed: at most thirteen lines that end with what to do first. */
export interface Start {
  version: string;
  url: string;
  data: string;
  models: readonly { id: string; state: ModelState }[];
  default_model: string;
  services: readonly { name: string; kind: string }[];
  egress: { open: readonly string[] };
  keys: readonly string[];
  key_file: string | null;
  operator_token?: string;
  console_link?: string;
  console_file?: string;
  is_paused?: boolean;
}

const MODELS_SHOWN_MAX = 8;
const PLACES_SHOWN_MAX = 8;
const BODY = '{"messages":[{"role":"user","content":"Hello"}]}';

export function writeBanner(start: Start, notes: readonly string[]): string {
  const { url, models, services, egress } = start;
  const names = models.map(({ id, state }) => {
    const marks = [id === start.default_model ? "default" : "", state === "on" ? "" : state];
    const text = marks.filter(Boolean).join(", ");
    return text ? `${id} (${text})` : id;
  });
  const more = names.length > MODELS_SHOWN_MAX ? " …" : "";
  const headers = `-H ${writeBearer(start)} -H 'Content-Type: application/json'`;
  return [
    `wadi ${start.version}`,
    `address   ${url}/v1`,
    `openapi   ${url}/openapi.json`,
    `data      ${start.data}`,
    `models    ${names.slice(0, MODELS_SHOWN_MAX).join(" ")}${more}`,
    `services  ${services.map(({ name, kind }) => `${name} (${kind})`).join(" · ")}`,
    ...(egress.open.length === 0 ? [] : [`egress    open to ${listPlaces(egress.open)}`]),
    ...notes,
    "",
    `curl ${url}/v1/chat/completions ${headers} -d '${BODY}'`,
    ...(start.console_link ? [`Open the console: ${start.console_link}`] : []),
    "",
  ].join("\n");
}

function writeBearer({ keys, key_file }: Start): string {
  if (keys[0]) return `'Authorization: Bearer ${keys[0]}'`;
  // Double quotes let the shell insert the file's text or the variable.
  const key = key_file === null ? "$KEY" : `$(cat '${key_file.replaceAll("'", "'\\''")}')`;
  return `"Authorization: Bearer ${key}"`;
}

function listPlaces(places: readonly string[]): string {
  const left = places.length - PLACES_SHOWN_MAX;
  const shown = places.slice(0, PLACES_SHOWN_MAX).join(" ");
  return left > 0 ? `${shown} and ${left} more` : shown;
}
