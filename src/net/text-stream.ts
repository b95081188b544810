// A streamed reply to the command line, from a server that the operator named.

export interface TextStreamRequest {
  headers: Readonly<Record<string, string>>;
  body: string;
  signal: AbortSignal;
}

export interface TextStream {
  isGood: boolean;
  status: number;
  /** Pieces of the body as they arrive. */
  pieces: AsyncIterable<string>;
}

/** Posts a request; throws where no reply begins. The signal ends the reply, too. */
export async function openTextStream(
  url: string,
  { headers, body, signal }: TextStreamRequest,
): Promise<TextStream> {
  // A redirect could carry the key elsewhere.
  const response = await fetch(url, { method: "POST", headers, body, redirect: "error", signal });
  return { isGood: response.ok, status: response.status, pieces: readPieces(response) };
}

async function* readPieces({ body }: Response): AsyncGenerator<string, void> {
  if (!body) return;
  const decoder = new TextDecoder();
  for await (const bytes of body) yield decoder.decode(bytes, { stream: true });
  yield decoder.decode();
}
