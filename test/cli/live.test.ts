// Text of a run on the command line: each part once, and what is tried again anew.
import { expect, test } from "bun:test";
import { nameLocalActor, perform } from "../../src/admin/index.ts";
import { LivePrinter, type WrittenText } from "../../src/cli/live.ts";
import { createOutput } from "../../src/cli/output.ts";
import { followRun } from "../../src/cli/run-follower.ts";
import { startRuns } from "../spec/agents/runs-front.ts";

function openPrinter(isJson: boolean) {
  let written = "";
  const output = createOutput(
    isJson,
    (text) => {
      written += text;
    },
    expect.unreachable,
  );
  const printer = new LivePrinter(output);
  return { printer, read: () => written };
}

test("text is printed as it grows, and its end with the step of its round", () => {
  const { printer, read } = openPrinter(false);
  for (const text of ["", "Good", "Good day"]) printer.print({ round: 1, text });
  expect(read()).toBe("Good day");
  expect(printer.finish(1, "Good day, \u001b[31mall")).toBe("\n");
  expect(read()).toBe("Good day, \\u001b[31mall");
  expect([printer.finish(1, null), printer.finish(2, "whole")]).toEqual(["", ""]);
  expect(read()).toBe("Good day, \\u001b[31mall");
});

test("a round that is tried again begins a line", () => {
  const { printer, read } = openPrinter(false);
  printer.print({ round: 1, text: "Hal" });
  printer.print({ round: 1, text: "Whole" });
  printer.print({ round: 2, text: "Next" });
  expect(read()).toBe("Hal\nWhole\nNext");
});

test("with --json each part is a document, from which the text is rebuilt", () => {
  const { printer, read } = openPrinter(true);
  printer.print({ round: 1, text: "Hal" });
  printer.print({ round: 1, text: "Wh" });
  printer.print({ round: 1, text: "Whole" });
  printer.finish(1, "Whole.");
  expect(
    read()
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toEqual([
    { snapshot: { round: 1, text: "Hal" } },
    { snapshot: { round: 1, text: "Wh" } },
    { delta: { round: 1, text: "ole" } },
    { delta: { round: 1, text: "." } },
  ]);
});

test("a follower is given what the server knows of the reply under way", async () => {
  await using front = await startRuns(
    {
      more: '[[models]]\nid = "slow"\nself_hosted = true\ncapabilities = ["tools", "streaming"]\nupstream = { kind = "stub", tokens_per_second = 10 }\n',
    },
    { listens: true },
  );
  const run = await front.begin({ input: { message: "!say one two three four five six" } });
  const texts: WrittenText[] = [];
  const call = (operation: never, request: never) =>
    perform(front.app.admin, operation, request, nameLocalActor());
  const followed = followRun(call as never, front.clock, run.id, {
    onStep() {},
    onWaiting: () => expect.unreachable(),
    onText: (written) => void texts.push(written),
  });
  let isOver = false;
  void followed.then(() => {
    isOver = true;
  });
  while (!isOver) await front.clock.advance(100);
  const { output } = (await followed) as { output: { message: string } };
  const grown = texts.map(({ text }) => text).filter((text) => text !== "");
  expect(grown.length).toBeGreaterThan(2);
  for (const text of grown) expect(output.message.startsWith(text)).toBe(true);
});
