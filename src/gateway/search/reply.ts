// The shape of a search reply, for the document and for the JSON answer.
import { type Static, Type } from "@sinclair/typebox";
import { Resource } from "../../platform/schema.ts";

/** gateway.endpoints.post_search */
export const STATUS = 200;

/** gateway.resources.search_result.p1 */
export const SearchResult = {
  ...Resource("SearchResult", {
    object: Type.Literal("search_result", { description: "Always `search_result`." }),
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
  object: Type.Literal("list", { description: "Always `list`." }),
  data: Type.Array(SearchResult, {
    description: "The best first, none twice; empty where nothing was found.",
  }),
  query: Type.String({ description: "The query as it was sent." }),
});

export type Result = Static<typeof SearchResult>;

export function writeSearchReply(query: string, data: Result[]): Static<typeof SearchReply> {
  return { object: "list", data, query };
}
