// Where a model server's own routes stand, beside those of chat completions.

/** Its address without the `/v1` that the settings name it with. */
export function rootOf(url: string): string {
  return url.replace(/\/+$/, "").replace(/\/v1$/, "");
}
