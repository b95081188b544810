// Holds every file of src/ to the laws of the house, and the map of the street to the files.

import { describe, expect, test } from "bun:test";
import { fileLaws } from "./support/file-laws.ts";
import { importLaws, mayImport } from "./support/import-laws.ts";
import type { Law } from "./support/law.ts";
import {
  buildStreet,
  drawStreet,
  readDrawing,
  readStreet,
  type Street,
  writeDrawing,
} from "./support/street.ts";

const laws = [...importLaws, ...fileLaws];

const judgeStreet = (law: Law, street: Street): string[] =>
  [...street.values()].flatMap((file) =>
    law.judge(file, street).map(([line, says]) => `${file.path}:${line} ${says}`),
  );

const street = await readStreet();

describe("the laws of src/", () => {
  for (const law of laws) {
    test(law.says, () => {
      expect(judgeStreet(law, street)).toEqual([]);
    });
  }

  for (const law of laws) {
    test(`what breaks the law is seen: ${law.says}`, () => {
      for (const texts of law.refuses) {
        expect([texts, judgeStreet(law, buildStreet(texts))]).not.toEqual([texts, []]);
      }
      for (const texts of law.allows ?? []) {
        expect([texts, judgeStreet(law, buildStreet(texts))]).toEqual([texts, []]);
      }
    });
  }

  test("the street in src/README.md is the one that the imports draw", async () => {
    const drawing = drawStreet(street, Object.keys(mayImport));
    if (process.env.UPDATE_STREET) await writeDrawing(drawing);
    expect(await readDrawing(), "draw it anew with UPDATE_STREET=1").toBe(drawing);
  });
});
