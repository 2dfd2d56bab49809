const NO_DIGIT = 0xff;
const DIGITS = new Uint8Array(256).fill(NO_DIGIT);
for (let value = 0; value < 16; value++) {
  const digit = value.toString(16);
  for (const code of [digit.charCodeAt(0), digit.toUpperCase().charCodeAt(0)]) DIGITS[code] = value;
}

/**
 * Reads one to 64 hex digits, with or without `0x`, into 32 bytes. PERF: without a string.
 *
 * @returns false: it is something else, and `word` has no meaning
 */
export function readHexWord(text: Uint8Array, start: number, end: number, word: Uint8Array): boolean {
  const first = text[start] === 0x30 && text[start + 1] === 0x78 ? start + 2 : start;
  const count = end - first;
  if (count < 1 || count > 64) return false;
  let at = end;
  let seen = 0;
  for (let place = 31; place >= 0; place--) {
    const low = at > first ? DIGITS[text[--at]!]! : 0;
    const high = at > first ? DIGITS[text[--at]!]! : 0;
    seen |= low | high;
    word[place] = (high << 4) | low;
  }
  return seen < 16;
}
