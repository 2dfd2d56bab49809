/** The nibbles, one per byte, of a hex-prefixed path (Yellow Paper, appendix C); `undefined`: it is none. The leaf's flag is ignored. */
export function nibblesOfPath(path: Uint8Array): Uint8Array | undefined {
  const flags = path[0];
  if (flags === undefined || flags >= 0x40 || path.length > 33) return undefined;
  const isOdd = (flags & 0x10) !== 0;
  if (!isOdd && (flags & 0x0f) !== 0) return undefined;
  const nibbles = new Uint8Array(2 * path.length - (isOdd ? 1 : 2));
  const skipped = isOdd ? 1 : 2;
  for (let i = 0; i < nibbles.length; i++) {
    const byte = path[(i + skipped) >> 1]!;
    nibbles[i] = ((i + skipped) & 1) === 0 ? byte >> 4 : byte & 0x0f;
  }
  return nibbles;
}

/** @param nibbles one per byte */
export function pathOfNibbles(nibbles: Uint8Array): Uint8Array {
  const isOdd = nibbles.length % 2 === 1;
  const path = new Uint8Array((nibbles.length >> 1) + 1);
  path[0] = isOdd ? 0x10 : 0;
  const skipped = isOdd ? 1 : 2;
  for (let i = 0; i < nibbles.length; i++) path[(i + skipped) >> 1]! |= ((i + skipped) & 1) === 0 ? nibbles[i]! << 4 : nibbles[i]!;
  return path;
}
