// The programs of the pages for those who come with clients of their own print what is shown.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { openRoom, type Room, type Server } from "../support/binary.ts";
import { type Language, registerClients } from "../support/clients.ts";
import { type Document, findPage, readDocument } from "../support/documents.ts";

let room: Room;
let server: Server;
beforeAll(async () => {
  room = openRoom();
  server = await room.serve(["dev", "--port", "0"]);
});
afterAll(() => room.close());
const packages = registerClients(() => room);

const joinBlocks = ({ blocks }: Document, language: string) =>
  blocks.flatMap((block) => (block.language === language ? [`${block.text}\n`] : [])).join("");

/** The blocks of a page are one program. */
async function runPage(page: Document, language: Language): Promise<string> {
  const text = joinBlocks(page, language === "python" ? "python" : "ts");
  const program = text.replaceAll("http://127.0.0.1:8080", server.url);
  const { code, stdout, stderr } = await packages().run(language, program);
  expect([code, stderr]).toEqual([0, ""]);
  return stdout;
}

const isPythonMissing = Bun.which("python3") === null;

const TYPED = ["from-langgraph", "ai-sdk"];
for (const name of TYPED) {
  test(`${name}: its program prints what the page shows`, async () => {
    expect(await runPage(findPage(name), "typescript")).toBe(joinBlocks(findPage(name), "text"));
  });
}

test.skipIf(isPythonMissing)(
  "from-assistants: its program prints what the page shows",
  async () => {
    const page = findPage("from-assistants");
    expect(await runPage(page, "python")).toBe(joinBlocks(page, "text"));
  },
);

const readPackage = (language: Language) =>
  readDocument(join(import.meta.dir, "../../scripts/clients", language, "README.md"));

test("the TypeScript package: the program of its README works", async () => {
  const page = readPackage("typescript");
  expect(await runPage(page, "typescript")).toBe("You said: HelloOne.\n");
});

test("the programs of these pages and of the TypeScript package have types", async () => {
  const documents = [...TYPED.map(findPage), readPackage("typescript")];
  const errors = await packages().check(...documents.map((page) => joinBlocks(page, "ts")));
  expect(errors).toEqual([[], [], []]);
});

test.skipIf(isPythonMissing)("the Python package: the program of its README works", async () => {
  expect(await runPage(readPackage("python"), "python")).toBe("You said: HelloOne.\n");
});
