// Refusals that many operations document alike stand in the document once.

type Json = Record<string, unknown>;
interface Operation {
  responses: Record<string, Json>;
}

const ERROR = /#\/components\/schemas\/(\w+Error)"/;

/** Of each half and status the commonest refusal becomes a component, to which operations refer. */
export function shareResponses(paths: Json): Json {
  const operations = Object.values(paths).flatMap((one) => Object.values(one as Json));
  const counts = new Map<string, Map<string, number>>();
  const all = (operations as Operation[]).flatMap(({ responses }) =>
    Object.entries(responses).flatMap(([status, response]) => {
      const text = JSON.stringify(response);
      const error = ERROR.exec(text)?.[1];
      return error ? [{ responses, status, text, name: `${error}${status}` }] : [];
    }),
  );
  for (const { name, text } of all) {
    const texts = counts.get(name) ?? new Map<string, number>();
    counts.set(name, texts.set(text, (texts.get(text) ?? 0) + 1));
  }
  const shared: Json = {};
  for (const [name, texts] of counts) {
    const [text, count] = [...texts].reduce((most, one) => (one[1] > most[1] ? one : most));
    if (count > 1) shared[name] = JSON.parse(text);
  }
  const written = new Map(Object.entries(shared).map(([name, one]) => [name, JSON.stringify(one)]));
  for (const { responses, status, text, name } of all) {
    if (written.get(name) === text) responses[status] = { $ref: `#/components/responses/${name}` };
  }
  return shared;
}
