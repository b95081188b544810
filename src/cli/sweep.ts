// `wadi sweep`: shows when old rows were deleted last, or deletes them now.
import { administer } from "./administration.ts";
import { drawRow, drawTable, type Output } from "./output.ts";
import { type Given, hasFlag } from "./verb.ts";

export async function sweep(given: Given, output: Output): Promise<number> {
  if (hasFlag(given, "now")) {
    const swept = await administer(given, ({ sweeps }) => sweeps.sweep());
    output.print(swept, drawTable(swept, ["what", "rows"]));
    return 0;
  }
  const standing = await administer(given, ({ sweeps }) => sweeps.look());
  if (standing.is_clock_doubtful) {
    output.say(
      "the clock is over 7 days ahead of what was written last: a server deletes nothing before " +
        "it has run for 24 hours; where the clock is right, `wadi sweep --now` deletes at once",
    );
  }
  output.print(standing, drawRow({ ...standing }));
  return 0;
}
