// Writes the bytes of a request, so that no name or value in it can add anything of its own.

const NAME = /^[!#$%&'*+.^_`|~\w-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Header lines; throws a TypeError that names the first header that cannot be sent. */
export function writeHeaders(headers: Readonly<Record<string, string>>): string {
  let text = "";
  for (const name in headers) {
    const value = headers[name]!;
    // A line end in it would let its writer add headers, and requests, of their own.
    if (!NAME.test(name) || !VALUE.test(value))
      throw new TypeError(`the header ${name} is invalid`);
    text += `${name}: ${value}\r\n`;
  }
  return text;
}

/** Headers go out byte by byte, as they were given; a text as UTF-8. */
export function writeRequest(head: string, body: string | Uint8Array): Buffer {
  const length = typeof body === "string" ? Buffer.byteLength(body) : body.length;
  const whole = `${head}content-length: ${length}\r\n\r\n`;
  const bytes = Buffer.allocUnsafe(whole.length + length);
  bytes.write(whole, 0, "latin1");
  if (typeof body === "string") bytes.write(body, whole.length);
  else bytes.set(body, whole.length);
  return bytes;
}
