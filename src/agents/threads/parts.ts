// Parts of messages with images: as they are stored and shown, and as a model gets them.
import { type Static, Type } from "@sinclair/typebox";
import type { ContentPart } from "../../models/index.ts";
import { always } from "../../platform/schema.ts";

export const TextPart = Type.Object(
  { type: always("text"), text: Type.String({ description: "The text." }) },
  { $id: "MessageTextPart", description: "A text." },
);
const ImagePart = Type.Object(
  {
    type: always("image_url"),
    image_url: Type.Object(
      {
        url: Type.String({
          description: "The address as it was sent; of a `data:` URL only its beginning.",
        }),
        detail: Type.Optional(Type.String({ description: "How closely to look." })),
      },
      { description: "The image, without its bytes." },
    ),
  },
  { $id: "MessageImagePart", description: "An image." },
);
export const MessagePart = Type.Union([TextPart, ImagePart], {
  description: "A text or an image.",
});
export type MessagePart = Static<typeof MessagePart>;

/** An image of a message: `place` is the index of its part. */
export interface ImageKey {
  run_id: string;
  place: number;
}

/** A part in a prompt, where an image stands by its key: its bytes come in at the last moment. */
export type ShownPart =
  | { type: "text"; text: string }
  | { type: "image"; key: string; detail: string | undefined };

export const nameImage = ({ run_id, place }: ImageKey): string => `${run_id} ${place}`;

/** Tells the addresses of the parts that are images, by their places. */
export function listImages(
  parts: readonly MessagePart[] | null | undefined,
): { place: number; url: string }[] {
  return (parts ?? []).flatMap((part, place) =>
    part.type === "image_url" ? [{ place, url: part.image_url.url }] : [],
  );
}

export function showParts(run_id: string, parts: readonly MessagePart[]): ShownPart[] {
  return parts.map((part, place) => {
    if (part.type === "text") return part;
    return {
      type: "image",
      key: nameImage({ run_id, place }),
      detail: part.image_url.detail,
    };
  });
}

export const countShownImages = (parts: readonly ShownPart[] = []): number =>
  parts.filter(({ type }) => type === "image").length;

const UNKEPT = "[An image stood here, which is not kept any more.]";
const UNSEEN = "[An image stood here, which this model cannot see.]";

export interface KnownImages {
  /** Returns the image as a `data:` URL; undefined if it is not there. */
  find(key: string): string | undefined;
  isSeen: boolean;
}

/** Writes the parts of a message for a model; a sentence stands in place of a missing image. */
export function writeParts(parts: readonly ShownPart[], images: KnownImages): ContentPart[] {
  return parts.map((part) => {
    if (part.type === "text") return part;
    const url = images.find(part.key);
    if (!images.isSeen || url === undefined) {
      return { type: "text", text: images.isSeen ? UNKEPT : UNSEEN };
    }
    const { detail } = part;
    return { type: "image_url", image_url: detail === undefined ? { url } : { url, detail } };
  });
}
