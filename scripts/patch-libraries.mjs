// `npm install` runs it: mends faults of libraries in node_modules, each reported to its maintainers or to be reported. A library whose text is
// another one stops it: after an update, look whether the fault is gone, and delete its patch.
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./lib/stamp.mjs";

const DISCV5 = "@chainsafe/discv5/lib";

/** @type {readonly { why: string, file: string, from: string | RegExp, to: string }[]} */
const PATCHES = [
  {
    why: "the empty string is the RLP of 0, the sequence number of a record that was never published",
    file: "@chainsafe/enr/lib/util.js",
    from: "return BigInt(`0x${bytesToHex(bytes)}`);",
    to: "return bytes.length === 0 ? 0n : BigInt(`0x${bytesToHex(bytes)}`);",
  },
  {
    why: "request ids are up to 8 bytes: one that begins with zeros, or is empty, must come back as it was",
    file: `${DISCV5}/message/decode.js`,
    from: /id: bytesToBigint\(rlpRaw\[0\]\)/g,
    to: "id: idOf(rlpRaw[0])",
  },
  {
    why: "as before: such an id carries its length above its 64 bits",
    file: `${DISCV5}/message/decode.js`,
    from: "export function decode(data) {",
    to: `function idOf(bytes) {
    if (bytes.length > 8) throw new Error(ERR_INVALID_MESSAGE);
    return bytes.length > 0 && bytes[0] !== 0 ? bytesToBigint(bytes) : (BigInt(bytes.length + 1) << 64n) | bytesToBigint(bytes);
}
export function decode(data) {`,
  },
  {
    why: "as before",
    file: `${DISCV5}/message/encode.js`,
    from: /bigintToBytes\(m\.id\)/g,
    to: "idBytes(m.id)",
  },
  {
    why: "as before",
    file: `${DISCV5}/message/encode.js`,
    from: "export function encode(message) {",
    to: `function idBytes(id) {
    const length = Number(id >> 64n) - 1;
    if (length < 0) return bigintToBytes(id);
    const bytes = new Uint8Array(8);
    new DataView(bytes.buffer).setBigUint64(0, BigInt.asUintN(64, id));
    return bytes.subarray(8 - length);
}
export function encode(message) {`,
  },
  {
    why: "a WHOAREYOU that was lost is sent again, as it was, when the other end asks again",
    file: `${DISCV5}/session/service.js`,
    from: `        if (this.activeChallenges.peek(nodeAddrStr)) {
            log("WHOAREYOU already sent. %o", nodeAddr);
            return;`,
    to: `        const sent = this.activeChallenges.peek(nodeAddrStr);
        if (sent) {
            log("WHOAREYOU already sent. %o", nodeAddr);
            if (sent.packet) this.send(nodeAddr, sent.packet);
            return;`,
  },
  {
    why: "as before",
    file: `${DISCV5}/session/service.js`,
    from: "this.activeChallenges.set(nodeAddrStr, { data: challengeData, remoteEnr: remoteEnr ?? undefined });",
    to: "this.activeChallenges.set(nodeAddrStr, { data: challengeData, remoteEnr: remoteEnr ?? undefined, packet });",
  },
];

for (const { why, file, from, to } of PATCHES) {
  const path = join(ROOT, "node_modules", file);
  if (!existsSync(path)) continue; // an installation without the packages that use it
  const text = readFileSync(path, "utf8");
  if (text.includes(to)) continue;
  const patched = text.replace(from, () => to);
  if (patched === text)
    throw new Error(`node_modules/${file} is another text than the patch of scripts/patch-libraries.mjs expects (${why})`);
  rmSync(path); // it may be a link to a file that others have too
  writeFileSync(path, patched);
}
