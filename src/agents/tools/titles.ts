// Titles of the built-in tools: their names for people.
const TITLES: ReadonlyMap<string, string> = new Map([
  ["calculator", "Calculator"],
  ["current_time", "Current time"],
  ["memory_delete", "Delete a note"],
  ["memory_get", "Read a note"],
  ["memory_list", "List notes"],
  ["memory_set", "Keep a note"],
  ["read_output", "Read an earlier result"],
  ["read_page", "Read a page"],
  ["web_search", "Web search"],
]);

export const findBuiltinTitle = (name: string): string | null => TITLES.get(name) ?? null;
