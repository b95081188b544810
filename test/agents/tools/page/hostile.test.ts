// Pages that are written to hold a reader up: each is read to an end within its bounds.
import { expect, test } from "bun:test";
import { hostilePages } from "./hostile-pages.ts";
import { read } from "./reading.ts";

test.each(hostilePages.map((page) => [...page] as const))("%s", async (_, html, omissions) => {
  const page = await read(html);
  if (!page.ok) throw new Error(page.problem);
  expect(page.omissions as string[]).toEqual(omissions);
  // Beyond a million characters nothing more is taken; what came last may have been long.
  expect(page.text.length).toBeLessThan(1_200_000);
});

test("a text that is longer than what is kept is cut", async () => {
  const page = await read("🐪".repeat(500_001), { type: "text/plain" });
  expect(page).toMatchObject({ ok: true, omissions: ["length"] });
  expect(page.ok && page.text).toBe("🐪".repeat(500_000));
});
