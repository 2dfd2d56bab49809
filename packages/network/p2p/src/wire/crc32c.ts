/** Castagnoli's polynomial, bits reversed. */
const POLYNOMIAL = 0x82f6_3b78;

/** `TABLES[k][byte]`: the contribution of a byte that is followed by k more bytes of the same step. */
const TABLES = createTables();

function createTables(): readonly Uint32Array[] {
  const first = Uint32Array.from({ length: 256 }, (_, byte) => {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
    return crc;
  });
  const tables = [first];
  while (tables.length < 8) tables.push(tables.at(-1)!.map((crc) => (crc >>> 8) ^ first[crc & 0xff]!));
  return tables;
}

/** CRC-32C (RFC 3720, appendix B.4), eight bytes at a step. */
export function crc32c(data: Uint8Array): number {
  const [t0, t1, t2, t3, t4, t5, t6, t7] = TABLES as [
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
  ];
  const whole = data.length - (data.length % 8);
  let crc = 0xffff_ffff;
  let at = 0;
  for (; at < whole; at += 8) {
    crc =
      t7[(crc ^ data[at]!) & 0xff]! ^
      t6[((crc >>> 8) ^ data[at + 1]!) & 0xff]! ^
      t5[((crc >>> 16) ^ data[at + 2]!) & 0xff]! ^
      t4[((crc >>> 24) ^ data[at + 3]!) & 0xff]! ^
      t3[data[at + 4]!]! ^
      t2[data[at + 5]!]! ^
      t1[data[at + 6]!]! ^
      t0[data[at + 7]!]!;
  }
  for (; at < data.length; at++) crc = (crc >>> 8) ^ t0[(crc ^ data[at]!) & 0xff]!;
  return ~crc >>> 0;
}
