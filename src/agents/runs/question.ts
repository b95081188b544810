// The question of a run: a text, or parts of texts and images as in a chat.
import { type Static, Type } from "@sinclair/typebox";
import type { UrlCheck } from "../../net/index.ts";
import { apiError } from "../../platform/errors.ts";
import { FilledText } from "../../platform/schema.ts";
import { type MessagePart, TextPart } from "../threads/parts.ts";
import { isData, readData, shortenData, TYPES_SENTENCE } from "./images.ts";
import type { StoredImage } from "./store/images.ts";

export const MESSAGE_CHARACTERS_MAX = 100_000;
const PARTS_MAX = 32;
const IMAGES_MAX = 8;
/** Bound of a whole body, so that none is longer. */
const URL_CHARACTERS_MAX = 262_144;
const DETAIL_CHARACTERS_MAX = 16;

const strict = { additionalProperties: false };
const about = "What the run is started with.";

const Image = Type.Object(
  {
    type: Type.Literal("image_url", { description: "Always `image_url`." }),
    image_url: Type.Object(
      {
        url: Type.String({
          description:
            "A `data:` URL, or an https URL of a public DNS name, which is fetched once at the " +
            "start of the run, in at most 20 seconds. PNG, JPEG, WebP or GIF of at most 4 MiB, " +
            "all together at most 8 MiB. An image from an address is content from outside.",
          minLength: 1,
          maxLength: URL_CHARACTERS_MAX,
        }),
        detail: Type.Optional(
          Type.String({
            description: "How closely the model looks, such as `low`; omitted: its own.",
            maxLength: DETAIL_CHARACTERS_MAX,
          }),
        ),
      },
      { ...strict, description: "The image." },
    ),
  },
  { ...strict, description: "An image, for a model with `vision`." },
);
const Text = Type.Object(TextPart.properties, { ...strict, description: "A text." });

export const RunQuestion = Type.Union(
  [
    Type.Object(
      { message: FilledText("What is asked, in 1 to 100,000 characters.", MESSAGE_CHARACTERS_MAX) },
      { ...strict, description: about },
    ),
    Type.Object(
      {
        content: Type.Array(Type.Union([Text, Image]), {
          description: "Texts of at most 100,000 characters together, and up to 8 images.",
          minItems: 1,
          maxItems: PARTS_MAX,
        }),
      },
      { ...strict, description: about },
    ),
  ],
  { description: about },
);

/** Images beside a message, as operators send them. */
export const SentImages = Type.Array(Image.properties.image_url.properties.url, {
  description:
    "At most 8 images for a model with `vision`, behind the message: `data:` URLs, or https URLs " +
    "that are fetched once at the start of the run.",
  maxItems: IMAGES_MAX,
});

export interface Question {
  message: string;
  content?: MessagePart[];
  images?: StoredImage[];
}

type Validate = (url: string) => UrlCheck;
type SentParts = Extract<Static<typeof RunQuestion>, { content: unknown }>["content"];

/** Reads a question; `validate` checks an address before anything is stored. */
export function readQuestion(sent: Static<typeof RunQuestion>, validate: Validate): Question {
  if ("message" in sent) return { message: sent.message.toWellFormed() };
  return readContent(sent.content, validate, (place) => `input.content.${place}.image_url.url`);
}

/** Reads a message and the images beside it. */
export function readImageQuestion(
  message: string,
  images: Static<typeof SentImages>,
  validate: Validate,
): Question {
  const parts: SentParts = [
    { type: "text", text: message },
    ...images.map((url) => ({ type: "image_url" as const, image_url: { url } })),
  ];
  return readContent(parts, validate, (place) => `images.${place - 1}`);
}

function readContent(
  sent: SentParts,
  validate: Validate,
  nameImage: (place: number) => string,
): Question {
  const images: StoredImage[] = [];
  const content = sent.map((part, place): MessagePart => {
    if (part.type === "text") return { type: "text", text: readText(part.text, place) };
    const { url, detail } = part.image_url;
    const at = nameImage(place);
    const stored = isData(url) ? readImage(url, at) : null;
    if (stored !== null) images.push({ place, url: stored });
    else requireUrl(validate(url), at);
    const shown = stored === null ? url : shortenData(stored);
    return {
      type: "image_url",
      image_url: detail === undefined ? { url: shown } : { url: shown, detail },
    };
  });
  const texts = content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  const message = texts.join("\n");
  requireBounds(message, content);
  // A model without `vision` may be asked in texts alone.
  return texts.length === content.length ? { message } : { message, content, images };
}

function readText(text: string, place: number): string {
  if (text.includes("\0")) throw refuse(`input.content.${place}.text`, "must have no NUL");
  return text.toWellFormed();
}

function readImage(url: string, param: string): string {
  const read = readData(url);
  if (read === null) throw refuse(param, `must be ${TYPES_SENTENCE} in base64`);
  return read;
}

/** agents.errors.url_refused */
function requireUrl(check: UrlCheck, param: string): void {
  if (!check.ok) throw apiError("url_refused", { param, message: check.reason });
}

function requireBounds(message: string, content: readonly MessagePart[]): void {
  const images = content.filter(({ type }) => type === "image_url").length;
  if (images > IMAGES_MAX) throw refuse("input.content", `must have at most ${IMAGES_MAX} images`);
  const isLong =
    message.length > 2 * MESSAGE_CHARACTERS_MAX || [...message].length > MESSAGE_CHARACTERS_MAX;
  if (isLong) throw refuse("input.content", "must have at most 100000 characters of text");
  if (images === 0 && message === "") throw refuse("input.content", "must have a text or an image");
}

/** agents.errors.invalid_request */
function refuse(param: string, says: string) {
  return apiError("invalid_request", { param, message: `\`${param}\` ${says}.` });
}
