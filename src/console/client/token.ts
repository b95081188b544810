// Tokens of links, which stand in the fragment: no log and no referrer has it.
const TOKEN = /^#(.+)$/;

/** Takes the token out of the address: the history and a copied address must not keep it. */
export function takeToken(): string | undefined {
  const token = TOKEN.exec(location.hash)?.[1];
  if (token) history.replaceState(null, "", location.pathname + location.search);
  return token;
}
