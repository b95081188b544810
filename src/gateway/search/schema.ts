// The body and the reply of POST /v1/search, for validation and for the API document.
import { type Static, Type } from "@sinclair/typebox";
import { always, Resource, withRules } from "../../platform/schema.ts";

const QUERY_CHARACTERS_MAX = 400;
const RESULTS_MAX = 20;
const RESULTS_DEFAULT = 5;
/** gateway.limits.user */
const USER_CHARACTERS_MAX = 256;

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

/** Unlisted fields are ignored, as in chats; null is refused on every field. */
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

export function readSearchInput({ query, max_results = RESULTS_DEFAULT, language }: SearchBody) {
  return { query, max_results, language: language?.toLowerCase() ?? null };
}

/** gateway.endpoints.post_search */
export const STATUS = 200;

/** gateway.resources.search_result.p1 */
export const SearchResult = {
  ...Resource("SearchResult", {
    object: always("search_result"),
    index: Type.Integer({ description: "Its place in the list, from 0." }),
    title: Type.String({
      description: "Plain text, to 300 characters; the host of the link where it has no title.",
    }),
    url: Type.String({ description: "The link: http or https, without user or password." }),
    snippet: Type.String({
      description: "What its page says, as plain text to 2,000 characters; may be empty.",
    }),
  }),
  description: "A web hit.",
};

export const SearchReply = Resource("SearchReply", {
  object: always("list"),
  data: Type.Array(SearchResult, {
    description: "The best first, none twice; empty where nothing was found.",
  }),
  query: Type.String({ description: "The query as it was sent." }),
});

export type SearchResult = Static<typeof SearchResult>;

export function writeSearchReply(query: string, data: SearchResult[]): Static<typeof SearchReply> {
  return { object: "list", data, query };
}
