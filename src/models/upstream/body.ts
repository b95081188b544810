// Reads a whole reply of a model server within a limit.

/** The text; null: it is larger than `bytes_max`. Throws what a read of the body throws. */
export async function readBounded(response: Response, bytes_max: number): Promise<string | null> {
  const announced = Number(response.headers.get("content-length") ?? 0);
  if (announced > bytes_max) return null;
  // With a length told the reply cannot grow beyond it: the whole text comes at the lowest price.
  if (announced > 0 && !response.headers.has("content-encoding")) return response.text();
  const pieces: Uint8Array[] = [];
  let length = 0;
  // Leaving the loop early cancels the stream.
  for await (const piece of response.body ?? []) {
    length += piece.length;
    if (length > bytes_max) return null;
    pieces.push(piece);
  }
  return Buffer.concat(pieces, length).toString();
}
