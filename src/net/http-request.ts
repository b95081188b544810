// Writes the bytes of a request, so that no header can smuggle in another.

const NAME = /^[!#$%&'*+.^_`|~\w-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Writes header lines; throws a TypeError that names the first invalid header. */
export function writeHeaders(headers: Readonly<Record<string, string>>): string {
  let text = "";
  for (const name in headers) {
    const value = headers[name]!;
    // A line end in a value could add headers, or whole requests.
    if (!NAME.test(name) || !VALUE.test(value))
      throw new TypeError(`the header ${name} is invalid`);
    text += `${name}: ${value}\r\n`;
  }
  return text;
}

export function writeRequest(head: string, body: string | Uint8Array): Buffer {
  const length = typeof body === "string" ? Buffer.byteLength(body) : body.length;
  const whole = `${head}content-length: ${length}\r\n\r\n`;
  const bytes = Buffer.allocUnsafe(whole.length + length);
  bytes.write(whole, 0, "latin1");
  if (typeof body === "string") bytes.write(body, whole.length);
  else bytes.set(body, whole.length);
  return bytes;
}
