// Version and commit of this program.

/** Defined by the build. */
declare const WADI_VERSION: string | undefined;
declare const WADI_COMMIT: string | undefined;

export const VERSION = typeof WADI_VERSION === "undefined" ? "0.0.0-source" : WADI_VERSION;
export const COMMIT = typeof WADI_COMMIT === "undefined" ? "source" : WADI_COMMIT;
