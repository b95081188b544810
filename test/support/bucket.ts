// A bucket of S3 on loopback: objects, uploads in parts, lists in pages and deletions.

export interface Bucket extends Disposable {
  url: string;
  objects: Map<string, Uint8Array>;
  /** Resolves once an upload in parts was cancelled. */
  cancelled: Promise<void>;
}

const PAGE = 2;

/** Refuses requests without a signature by this key. */
export function openBucket(keyId: string): Bucket {
  const objects = new Map<string, Uint8Array>();
  const cancelled = Promise.withResolvers<void>();
  const uploads = new Map<string, Map<number, Uint8Array>>();
  const server = Bun.serve({
    ...{ hostname: "127.0.0.1", port: 0 },
    async fetch(request) {
      const { pathname, searchParams } = new URL(request.url);
      const [, , ...parts] = decodeURIComponent(pathname).split("/");
      const key = parts.join("/");
      if (!request.headers.get("authorization")?.includes(`Credential=${keyId}/`)) {
        const error = "<Code>AccessDenied</Code><Message>Access Denied.</Message>";
        return new Response(`<Error>${error}</Error>`, { status: 403 });
      }
      const upload = searchParams.get("uploadId");
      if (request.method === "DELETE") {
        if (upload !== null) cancelled.resolve();
        const isThere = upload === null ? objects.delete(key) : uploads.delete(upload);
        return new Response(null, { status: isThere ? 204 : 404 });
      }
      if (request.method === "GET") return new Response(list(objects, searchParams));
      const bytes = new Uint8Array(await request.arrayBuffer());
      if (request.method === "PUT" && upload === null) objects.set(key, bytes);
      else if (request.method === "PUT") {
        // A part may arrive after its upload was cancelled.
        uploads.get(upload!)?.set(Number(searchParams.get("partNumber")), bytes);
      } else if (upload === null) {
        uploads.set(key, new Map());
        return new Response(answer("InitiateMultipartUpload", `<UploadId>${key}</UploadId>`));
      } else {
        const pieces = [...uploads.get(upload)!].sort(([one], [other]) => one - other);
        objects.set(key, Buffer.concat(pieces.map(([, piece]) => piece)));
        return new Response(answer("CompleteMultipartUpload", '<ETag>"e"</ETag>'));
      }
      return new Response(null, { headers: { etag: '"e"' } });
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    objects,
    cancelled: cancelled.promise,
    [Symbol.dispose]: () => void server.stop(true),
  };
}

function list(objects: ReadonlyMap<string, unknown>, asked: URLSearchParams): string {
  const [prefix, after] = [asked.get("prefix") ?? "", asked.get("start-after") ?? ""];
  const keys = [...objects.keys()].sort().filter((key) => key.startsWith(prefix) && key > after);
  const page = keys.slice(0, PAGE).map((key) => `<Contents><Key>${key}</Key></Contents>`);
  const isTruncated = `<IsTruncated>${keys.length > PAGE}</IsTruncated>`;
  return answer("ListBucket", isTruncated + page.join(""));
}

const answer = (name: string, content: string) =>
  `<?xml version="1.0"?><${name}Result>${content}</${name}Result>`;
