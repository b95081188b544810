// What strangers send: a model server, a tool, a page and a receiver that answer with hostile text.

/** Text that would be markup, a script, another text, a formula, or wider than every screen. */
export const HOSTILE =
  `</script><script>document.title="x"</script><img src=//evil.example/x onerror="alert(1)">` +
  `<style>*{display:none}</style>\u202Egnp.exe\u202C\u2066\u0007\u001b[31mzero\u200Bwidth\uFEFF` +
  `\u2028=HYPERLINK("//evil.example") javascript:alert(1) __proto__ \u{E0041}شركة`;
export const RUBBISH = HOSTILE + "W".repeat(2_000);
/** Each character would be an element of its own. */
const CONTROLS = "\u0001\u202Ex".repeat(20_000);

const CALLS: Readonly<Record<string, string>> = {
  ODD:
    `{"note":${JSON.stringify(RUBBISH)},"__proto__":{"toString":"<b>"},"constructor":` +
    `"javascript:alert(1)","":"","<b onclick=x>":[1,null,{"a":{"__proto__":1}}]}`,
  CONTROLS: JSON.stringify({ note: CONTROLS }),
};

/** Writes what a header may hold. */
export const printable = RUBBISH.replaceAll(/[^ -~]/g, "");

export function openStrangers(): Bun.Server<undefined> {
  return Bun.serve({
    ...{ hostname: "127.0.0.1", port: 0 },
    async fetch(request) {
      const { pathname } = new URL(request.url);
      const headers = { "content-type": "text/html", "x-evil": printable };
      if (pathname.startsWith("/hook")) {
        return new Response(`${RUBBISH}\0${CONTROLS}`, { status: 500, headers });
      }
      if (pathname.startsWith("/page")) {
        return new Response(`<p>${RUBBISH.replaceAll("<", "&lt;")} ${CONTROLS}`, { headers });
      }
      if (pathname.startsWith("/tool")) {
        return new Response(`${RUBBISH}\0${CONTROLS.repeat(20)}`, { headers });
      }
      if (!pathname.endsWith("/chat/completions")) return Response.json({ data: [] });
      return answerChat((await request.json()) as AskedChat);
    },
  });
}

interface AskedChat {
  messages: { role: string }[];
  stream?: boolean;
}

function answerChat({ messages, stream = false }: AskedChat): Response {
  const said = JSON.stringify(messages);
  if (said.includes("FAIL")) {
    const error = { message: RUBBISH, code: RUBBISH, type: RUBBISH };
    return Response.json({ error }, { status: 400 });
  }
  const asked = Object.keys(CALLS).find((name) => said.includes(name));
  const hasResult = messages.some(({ role }) => role === "tool");
  const called = { name: "pay", arguments: CALLS[asked ?? ""] };
  const call = { index: 0, id: HOSTILE, type: "function", function: called };
  const calls = asked && !hasResult ? { tool_calls: [call] } : {};
  const frame = {
    ...{ id: HOSTILE, object: "chat.completion.chunk", created: 1, model: RUBBISH },
    usage: { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 },
  };
  const end = asked && !hasResult ? "tool_calls" : RUBBISH;
  const delta = { role: "assistant", content: `${RUBBISH}\0\uD800`, ...calls };
  if (!stream) {
    const choices = [{ index: 0, message: delta, finish_reason: end }];
    return Response.json({ ...frame, object: "chat.completion", choices });
  }
  const choices = [
    { index: 0, delta, finish_reason: null },
    { index: 0, delta: {}, finish_reason: end },
  ];
  const frames = choices.map((one) => `data: ${JSON.stringify({ ...frame, choices: [one] })}\n\n`);
  const headers = { "content-type": "text/event-stream" };
  return new Response(`${frames.join("")}data: [DONE]\n\n`, { headers });
}
