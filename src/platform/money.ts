// Money as whole micro-SAR (a millionth of a riyal) and as decimal text, never as a float.

const AMOUNT = /^(0|[1-9]\d*)(?:\.(\d{1,6}))?$/;

/** Reads "1.20" as whole micro-SAR; throws a RangeError whose message is "must be …". */
export function parseMoney(text: string): number {
  const [, whole, part = ""] = AMOUNT.exec(text) ?? [];
  // The digits are joined before they become a number, so that nothing is rounded.
  const micro = whole === undefined ? Number.NaN : Number(whole + part.padEnd(6, "0"));
  if (!Number.isSafeInteger(micro)) {
    throw new RangeError('must be an amount such as "1.20", with at most six decimals');
  }
  return micro;
}

export function formatMoney(micro: number): string {
  if (!Number.isSafeInteger(micro) || micro < 0) throw new RangeError(`no amount: ${micro}`);
  const digits = String(micro).padStart(7, "0");
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`;
}
