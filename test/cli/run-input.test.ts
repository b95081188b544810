// What commands send of the options by which runs are started and found.
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { UsageError } from "../../src/cli/command.ts";
import { runServed } from "./served-command.ts";

const AGENT = "0198f000-0000-7000-8000-000000000001";

const directory = mkdtempSync(join(tmpdir(), "wadi-input-"));
afterAll(() => rmSync(directory, { recursive: true }));

async function write(name: string, content: string | Uint8Array): Promise<string> {
  const file = join(directory, name);
  await Bun.write(file, content);
  return file;
}

/** The query and the body that a command sends to a server, which takes neither. */
async function send(name: string, args: readonly string[]) {
  let sent: { query: Record<string, string>; body: unknown } | undefined;
  const answer = (_: string, { searchParams }: URL, body: unknown) => {
    sent = { query: Object.fromEntries(searchParams), body };
    return "no reply of such an operation";
  };
  const failure = await runServed(name, args, { answer }).catch((error) => error);
  if (failure instanceof UsageError) throw failure;
  return sent!;
}

const pairs = ["--metadata", "ticket=A-17", "--metadata", "a=b=c & d", "--metadata", "none="];

test("texts of metadata are sent by their names, of which the first = is the end", async () => {
  const list = await send("runs list", pairs);
  expect(list.query).toEqual({
    ...{ "metadata[ticket]": "A-17", "metadata[a]": "b=c & d", "metadata[none]": "" },
    limit: "20",
  });
  expect((await send("runs count", ["--metadata", "x=1"])).query).toEqual({ "metadata[x]": "1" });
  expect((await send("runs start", [AGENT, "Hello", ...pairs])).body).toEqual({
    ...{ message: "Hello", metadata: { ticket: "A-17", a: "b=c & d", none: "" } },
  });
  expect((await send("runs start", [AGENT, "Hello"])).body).toEqual({ message: "Hello" });
});

test("metadata without a name or a text, and a name that comes twice, are refused", async () => {
  for (const [typed, says] of [
    ["ticket", '--metadata takes NAME=TEXT, but is "ticket"'],
    ["=A-17", '--metadata takes NAME=TEXT, but is "=A-17"'],
  ] as const) {
    await expect(send("runs list", ["--metadata", typed])).rejects.toThrow(says);
  }
  const twice = [AGENT, "Hello", "--metadata", "a=1", "--metadata", "a=2"];
  await expect(send("runs start", twice)).rejects.toThrow('--metadata has "a" twice');
});

const PNG = Buffer.from("89504e470d0a1a0a", "hex");

test("an image is sent by its address, or as a `data:` URL of the type that its file shows", async () => {
  const misnamed = await write("a.jpg", PNG);
  const addresses = ["https://images.example.org/a.gif", "data:image/gif;base64,R0lGODlh"];
  const images = [...addresses, misnamed];
  const { body } = await send("runs start", [
    ...[AGENT, "Look"],
    ...images.flatMap((one) => ["--image", one]),
  ]);
  const data = `data:image/png;base64,${PNG.toString("base64")}`;
  expect(body).toEqual({ message: "Look", images: [...addresses, data] });
});

test("a file that is no image, that is missing or that is too long is refused by its name", async () => {
  const start = (...files: string[]) =>
    send("runs start", [AGENT, "Look", ...files.flatMap((one) => ["--image", one])]);
  const text = await write("a.txt", "Hello");
  const filled = async (name: string, size: number) =>
    write(name, Buffer.concat([PNG, Buffer.alloc(size - PNG.length)]));
  const [most, longer] = [await filled("most.png", 180_000), await filled("longer.png", 180_001)];
  for (const [files, says] of [
    [[text], `--image ${text} is not a PNG, JPEG, WebP or GIF image`],
    [[join(directory, "none.png")], `--image ${join(directory, "none.png")}: ENOENT`],
    [[longer], "the file of --image has at most 180000 bytes"],
    [[most, await filled("8.png", 8)], "the files of --image have at most 180000 bytes together"],
  ] as const) {
    await expect(start(...files)).rejects.toThrow(says);
  }
  const { body } = (await start(most)) as { body: { images: string[] } };
  expect(JSON.stringify(body).length).toBeLessThan(262_144);
});
