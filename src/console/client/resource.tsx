// The states of a part before it has data: loading, failed, or about something that is not there.
import type { ApiFailure } from "./api.ts";
import type { Resource } from "./live.ts";
import { FailureNote, Outside } from "./parts.tsx";
import { t } from "./texts.ts";

const ROWS = ["70%", "45%", "60%", "35%"];

/** Bars in the shape of rows, which the style sheet shows after 300 ms. */
export function Loading() {
  return (
    <div class="page later" aria-busy="true">
      <span class="vh">{t("loading")}</span>
      {ROWS.map((width) => (
        <p class="skrow" key={width}>
          <span class="sk" style={{ "--w": width }} />
        </p>
      ))}
    </div>
  );
}

/** An id of another form belongs to nothing. */
const isMissing = ({ status }: ApiFailure) => status === 404 || status === 400;

interface UnreadyProps {
  /** Names the part, as in "Webhooks could not be loaded." */
  what: string;
  resource: Resource<unknown>;
  missing?: { says: string; href: string; link: string };
}

/** Stands in place of a part without data, and above old data that could not be renewed. */
export function Unready({ what, resource, missing }: UnreadyProps) {
  const { data, failure } = resource;
  if (failure && isMissing(failure) && missing) {
    return (
      <div class="page">
        <p>
          <Outside text={missing.says} /> <a href={missing.href}>{missing.link}</a>
        </p>
      </div>
    );
  }
  if (failure) {
    return (
      <div class="page">
        <FailureNote what={what} failure={failure} />
      </div>
    );
  }
  return data === null ? <Loading /> : null;
}
