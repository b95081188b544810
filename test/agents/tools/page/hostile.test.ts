// Pages written to slow a reader down are read within bounds.
import { expect, test } from "bun:test";
import { hostilePages } from "./hostile-pages.ts";
import { read } from "./page-reader.ts";

test.each(hostilePages.map((page) => [...page] as const))("%s", async (_, html, omissions) => {
  const page = await read(html);
  if (!page.ok) throw new Error(page.problem);
  expect(page.omissions as string[]).toEqual(omissions);
  // Reading stops after a million characters; the last piece may be long.
  expect(page.text.length).toBeLessThan(1_200_000);
});

test("a text longer than the limit is cut", async () => {
  const page = await read("🐪".repeat(500_001), { type: "text/plain" });
  expect(page).toMatchObject({ ok: true, omissions: ["length"] });
  expect(page.ok && page.text).toBe("🐪".repeat(500_000));
});
