// The error of a run or a step.
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
