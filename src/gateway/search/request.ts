// The body of POST /v1/search: its fields and their bounds.
import { type Static, Type } from "@sinclair/typebox";
import { withRules } from "../../platform/schema.ts";

const QUERY_CHARACTERS_MAX = 400;
const RESULTS_MAX = 20;
const RESULTS_DEFAULT = 5;
/** gateway.limits.user */
const USER_CHARACTERS_MAX = 256;

/** What can be looked for, by a request and by a tool. */
export const SEARCH_FIELDS = {
  query: Type.String({
    minLength: 1,
    maxLength: QUERY_CHARACTERS_MAX,
    description: "What to look for: 1 to 400 characters, not only white space.",
  }),
  max_results: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: RESULTS_MAX,
      default: RESULTS_DEFAULT,
      description: "The most results, 1 to 20; omitted: 5. There may be fewer.",
    }),
  ),
  language: Type.Optional(
    Type.String({
      pattern: "^[A-Za-z]{2}$",
      description:
        "Two letters (ISO 639-1), in either case: the language preferred, where the engine can.",
    }),
  ),
};

/** What is not listed is ignored, as in chats; null is refused on every field. */
const Fields = Type.Object(
  {
    ...SEARCH_FIELDS,
    user: Type.Optional(
      Type.String({
        maxLength: USER_CHARACTERS_MAX,
        description: "Opaque hash of the end user, to 256 characters; it is ignored.",
      }),
    ),
  },
  { $id: "SearchRequest" },
);

export const SearchRequest = withRules(Fields, {
  query: ({ query }) => (/\S/.test(query) ? null : "must not be only white space"),
});

export type SearchBody = Static<typeof SearchRequest>;

/** What the body asks for, with what it left out. */
export function readWish({ query, max_results = RESULTS_DEFAULT, language }: SearchBody) {
  return { query, max_results, language: language?.toLowerCase() ?? null };
}
