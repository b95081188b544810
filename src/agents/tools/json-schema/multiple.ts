// Whether a number is a multiple of another, in exact decimals: 19.99 is one of 0.01.

/** `divisor` is above zero. */
export function isMultiple(number: number, divisor: number): boolean {
  if (Number.isSafeInteger(number) && Number.isSafeInteger(divisor)) return number % divisor === 0;
  const [digits, exponent] = takeApart(number);
  const [by, byExponent] = takeApart(divisor);
  // Both as whole numbers of the smaller of their two last places.
  const shift = exponent - byExponent;
  return shift >= 0
    ? (digits * 10n ** BigInt(shift)) % by === 0n
    : digits % (by * 10n ** BigInt(-shift)) === 0n;
}

/** Its shortest decimal digits as a whole number, and the power of ten that they are taken by. */
function takeApart(number: number): [bigint, number] {
  const [digits = "", exponent = "0"] = Math.abs(number).toString().split("e");
  const [whole = "", fraction = ""] = digits.split(".");
  return [BigInt(whole + fraction), Number(exponent) - fraction.length];
}
