// Takes out of a text what nobody can see in it.

/** White space and joiners, then marks of direction, then variants: they change what is seen. */
const KEPT = [
  String.raw`\t\n\f\r\u200c\u200d`,
  String.raw`\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069`,
  String.raw`\u180b-\u180d\ufe00-\ufe0f`,
].join("");

/**
 * Characters without a shape, among them the tags with which whole sentences can be hidden from
 * people and shown to models.
 */
const UNSEEN = new RegExp(`[[\\p{Cc}\\p{Default_Ignorable_Code_Point}]--[${KEPT}]]`, "gv");

export function cleanVisible(text: string): string {
  return text.replace(UNSEEN, "");
}
