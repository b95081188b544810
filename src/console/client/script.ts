// Scripts that the page loads when it needs them.

/** The policy allows a script by its digest. Returns whether it has run. */
export const loadScript = (name: string, integrity: string): Promise<boolean> =>
  new Promise((resolve) => {
    const script = document.createElement("script");
    Object.assign(script, {
      ...{ src: `/console/${name}.js`, integrity },
      ...{ onload: () => resolve(true), onerror: () => resolve(false) },
    });
    document.head.append(script);
  });
