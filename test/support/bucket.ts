// A bucket of S3 on loopback: objects, uploads in parts, lists in pages and deletions.

export interface Bucket extends Disposable {
  url: string;
  objects: Map<string, Uint8Array>;
}

const PAGE = 2;

/** Refuses requests without a signature by this key. */
export function openBucket(keyId: string): Bucket {
  const objects = new Map<string, Uint8Array>();
  const uploads = new Map<string, Map<number, Uint8Array>>();
  const server = Bun.serve({
    ...{ hostname: "127.0.0.1", port: 0 },
    async fetch(request) {
      const { pathname, searchParams } = new URL(request.url);
      const [, , ...parts] = decodeURIComponent(pathname).split("/");
      const key = parts.join("/");
      if (!request.headers.get("authorization")?.includes(`Credential=${keyId}/`)) {
        return new Response("<Error><Code>AccessDenied</Code></Error>", { status: 403 });
      }
      if (request.method === "DELETE") return new Response(null, { status: remove(key) });
      if (request.method === "GET") return new Response(list(objects, searchParams));
      const bytes = new Uint8Array(await request.arrayBuffer());
      const upload = searchParams.get("uploadId");
      if (request.method === "PUT" && upload === null) objects.set(key, bytes);
      else if (request.method === "PUT") {
        uploads.get(upload!)!.set(Number(searchParams.get("partNumber")), bytes);
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
  const remove = (key: string) => (objects.delete(key) ? 204 : 404);
  return {
    url: `http://127.0.0.1:${server.port}`,
    objects,
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
