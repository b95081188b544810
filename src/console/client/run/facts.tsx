// Parts of a step's detail: an error, indented JSON.
import { Outside } from "../parts.tsx";

export function ErrorText({ error }: { error: { code: string; message: string } }) {
  return (
    <div class="err">
      <b>{error.code}</b>
      <p>
        <Outside text={error.message} />
      </p>
    </div>
  );
}

/** Indents a JSON text; a model may write another text. */
export function indent(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
