// The items of a request's `input`: messages, calls of functions, and what they came to.
import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { always, maybe } from "../../platform/schema.ts";

const InputText = Type.Object(
  { type: always("input_text"), text: Type.String({ description: "The text." }) },
  { $id: "ResponsesInputText", description: "A text." },
);
const InputImage = Type.Object(
  {
    type: always("input_image"),
    image_url: Type.String({
      description: "An address that the model server can reach, or `data:`. There are no files.",
    }),
    detail: Type.Optional(
      maybe(Type.String({ description: "How closely to look; null: the model server's own." })),
    ),
  },
  { $id: "ResponsesInputImage", description: "An image, for a model with `vision`." },
);
const OutputText = Type.Object(
  { type: always("output_text"), text: Type.String({ description: "The text." }) },
  { $id: "ResponsesSentText", description: "A text that the model wrote." },
);
const Refusal = Type.Object(
  { type: always("refusal"), refusal: Type.String({ description: "The text." }) },
  { $id: "ResponsesSentRefusal", description: "A refusal that a model wrote; taken as its text." },
);

const content = <S extends TSchema>(part: S, description: string) =>
  Type.Union([Type.String(), Type.Array(part)], { description });
const id = () => Type.Optional(maybe(Type.String({ description: "Ignored." })));
const message = () => Type.Optional(always("message"));
const callId = (description: string) => Type.String({ description });

/** Clients send the items of a response back with all of its fields, which are ignored. */
const SystemItem = Type.Object(
  {
    type: message(),
    role: always("system"),
    content: content(InputText, "The text, or a list of its parts."),
    id: id(),
  },
  { $id: "ResponsesSystemItem", description: "What holds for the whole conversation." },
);
const DeveloperItem = Type.Object(
  { ...SystemItem.properties, role: always("developer") },
  { $id: "ResponsesDeveloperItem", description: "The same as a system message." },
);
const UserItem = Type.Object(
  {
    type: message(),
    role: always("user"),
    content: content(
      Type.Union([InputText, InputImage]),
      "The text, or a list of parts; `input_image` only for a model with `vision`.",
    ),
    id: id(),
  },
  { $id: "ResponsesUserItem", description: "What a person says." },
);
const AssistantItem = Type.Object(
  {
    type: message(),
    role: always("assistant"),
    content: content(
      Type.Union([OutputText, Refusal, InputText]),
      "The text, or a list of its parts.",
    ),
    id: id(),
  },
  { $id: "ResponsesAssistantItem", description: "What the model said." },
);
const CallItem = Type.Object(
  {
    type: always("function_call"),
    call_id: callId("The `function_call_output` that answers it names this id."),
    name: Type.String({ description: "The function that was called." }),
    arguments: Type.String({ description: "JSON text, as the model wrote it." }),
    id: id(),
  },
  { $id: "ResponsesCallItem", description: "A call that the model asked for." },
);
const CallOutputItem = Type.Object(
  {
    type: always("function_call_output"),
    call_id: callId("The id of the call being answered."),
    output: content(InputText, "The text, or a list of its parts."),
    id: id(),
  },
  { $id: "ResponsesCallOutputItem", description: "What a call came to." },
);
const ReasoningItem = Type.Object(
  { type: always("reasoning"), id: id() },
  { $id: "ResponsesReasoningItem", description: "Ignored: reasoning is not given back." },
);
const ReferenceItem = Type.Object(
  { type: always("item_reference"), id: id() },
  { $id: "ResponsesReferenceItem", description: "Refused: no items are kept." },
);

export const InputItem = Type.Union(
  [
    SystemItem,
    DeveloperItem,
    UserItem,
    AssistantItem,
    CallItem,
    CallOutputItem,
    ReasoningItem,
    ReferenceItem,
  ],
  { $id: "ResponsesInputItem" },
);
export type InputItem = Static<typeof InputItem>;
