// Tests the console in Arabic: right to left at every size, its six plural forms, and the choice.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { approvals } from "../../src/console/client/texts/approvals.ts";
import { approvals as arabicApprovals } from "../../src/console/client/texts/arabic/approvals.ts";
import { countArabic, inGenitive } from "../../src/console/client/texts/arabic/plural.ts";
import { shell } from "../../src/console/client/texts/arabic/shell.ts";
import { keyboard } from "../../src/console/client/texts/keyboard.ts";
import { runs } from "../../src/console/client/texts/runs.ts";
import { shared } from "../../src/console/client/texts/shared.ts";
import { hasBrowser } from "../support/browser.ts";
import {
  askAsOwner,
  HOSTILE,
  judgePage,
  type OpenedConsole,
  openConsole,
  soon,
} from "./support.ts";

type Texts = Readonly<Record<string, unknown>>;

describe("the Arabic texts", () => {
  test("cover the frame of pages and the parts that they share", () => {
    const english: Texts = { ...shared, ...keyboard };
    expect(Object.keys(english).filter((id) => !(id in shell))).toEqual([]);
  });

  test("take what the English ones take", () => {
    const english: Texts = { ...shared, ...keyboard, ...runs, ...approvals };
    for (const [id, text] of Object.entries<unknown>({ ...shell, ...arabicApprovals })) {
      if (english[id] !== undefined) expect(typeof text, id).toBe(typeof english[id]);
    }
  });

  test("have six plural forms", () => {
    const forms = {
      zero: "صفر",
      one: "واحد",
      two: "اثنان",
      few: "# قليل",
      many: "# كثير",
      other: "# آخر",
    };
    const written = [0, 1, 2, 3, 10, 11, 99, 100, 102, 103, 2_418].map((n) =>
      countArabic(n, forms),
    );
    expect(written).toEqual([
      ...["صفر", "واحد", "اثنان", "3 قليل", "10 قليل", "11 كثير", "99 كثير"],
      ...["100 آخر", "102 آخر", "103 قليل", "2,418 كثير"],
    ]);
    expect([inGenitive("دقيقتان"), inGenitive("3 دقائق")]).toEqual(["دقيقتين", "3 دقائق"]);
  });
});

if (!hasBrowser) test.skip("Arabic in a browser: there is no Chromium here", () => {});
else describe("the console in Arabic", walkArabic);

function walkArabic() {
  let opened: OpenedConsole;
  let page: Page;
  let tools: Bun.Server<undefined>;

  const findDirection = () => page.evaluate("document.documentElement.dir");
  beforeAll(async () => {
    tools = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("done") });
    const host = `127.0.0.1:${tools.port}`;
    opened = await openConsole([host]);
    page = opened.page;
    const parameters = { type: "object", properties: { iban: { type: "string" } } };
    const tool = { name: "send_payment", risk: "irreversible", description: "Pays.", parameters };
    const { server } = opened;
    await askAsOwner(server, "POST", "/v1/tools", { ...tool, endpoint: `http://${host}/pay` });
    const agent = { name: "مدقق الفواتير", system_prompt: "Be brief.", tools: ["send_payment"] };
    const { id } = await askAsOwner(server, "POST", "/v1/agents", agent);
    const call = {
      ...{ amount: "48250.00", beneficiary: "مؤسسة الواحة للتوريدات" },
      ...{ iban: "SA84 4000 0108 0540 1173 0013", note: HOSTILE },
    };
    const message = `ادفع الفاتورة INV-2026-1187\n!tool send_payment ${JSON.stringify(call)}\n!next\n!say Done.`;
    await askAsOwner(server, "POST", `/v1/agents/${id}/runs`, { input: { message } });
  });
  afterAll(async () => {
    await opened.close();
    await tools.stop(true);
  });

  test("is chosen by the address, kept, and runs from right to left", async () => {
    expect(await findDirection()).toBe("ltr");
    await page.goto(`${opened.server.url}/console/approvals?lang=ar`);
    await page.getByRole("heading", { name: "الموافقات", level: 1 }).waitFor();
    await soon(findDirection).toBe("rtl");
    await soon(() => page.evaluate("document.documentElement.lang")).toBe("ar");
    await page.goto(`${opened.server.url}/console/approvals`);
    await page.getByRole("heading", { name: "الموافقات", level: 1 }).waitFor();
    const [side, main] = [page.locator(".side"), page.locator(".main")];
    expect((await side.boundingBox())!.x).toBeGreaterThan((await main.boundingBox())!.x);
  });

  test("shows an approval without a fault at every size, in both themes", async () => {
    await page.getByRole("link", { name: /send_payment/ }).click();
    await page.getByText("لماذا يطلب الموافقة").waitFor();
    await judgePage(page);
    // What is Latin stays from left to right.
    const sum = page.getByRole("cell", { name: "48250.00" });
    await soon(() => sum.count()).toBe(1);
  });

  test("decides by the same keys", async () => {
    await page.keyboard.press("a");
    await page.keyboard.type("send_payment");
    await page.getByRole("button", { name: "موافقة", exact: true }).click();
    await page.getByText("تمت الموافقة. يتابع التشغيل.").waitFor();
  });

  test("isolates sentences that are English still, and switches to English", async () => {
    await page.keyboard.press("g");
    await page.keyboard.press("h");
    await page.getByRole("heading", { name: "الرئيسية", level: 1 }).waitFor();
    await page.getByText("\u2066Nothing needs a person.\u2069").waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "المفاتيح" }).waitFor();
    await judgePage(page);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "English" }).click();
    await page.getByRole("heading", { name: "Home", level: 1 }).waitFor();
    await soon(findDirection).toBe("ltr");
    await page.getByRole("button", { name: "العربية" }).waitFor();
    expect(opened.faults).toEqual([]);
  });
}
