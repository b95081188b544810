// Takes the proxy variables out of the environment, which fetch would otherwise obey.

const proxyVariable = /^(?:http|https|all|no)_proxy$/i;

/**
 * Deletes HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY, in any case, from `process.env` or its
 * like.
 */
export function dropProxyVariables(env: Record<string, string | undefined>): void {
  for (const name of Object.keys(env)) {
    if (proxyVariable.test(name)) delete env[name];
  }
}
