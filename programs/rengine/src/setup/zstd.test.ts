import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { sealGenesis } from "@rnode/chain";
import { bytesToHex } from "@rnode/primitives";
import { UserError } from "@rnode/program";
import { beforeEach, expect, it } from "vitest";
import { DICTIONARY } from "../testing/zstd-dictionary.ts";
import { openGenesisFile } from "./genesis-file.ts";

/** `zstd -19 -D` of `TEXT`. */
const TEXT = `{"config": {"chainId": 1337, "homesteadBlock": 0}, "gasLimit": "0x1c9c380", "alloc": {"0x${"aa".repeat(20)}": {"balance": "0x1", "nonce": "0x1"}}}`;
const WITH_DICTIONARY =
  "KLUv/SVNqH0CABQDeyJjb25maWdjaGFpbkkxMzM3LCAiaG9tZXN0ZWFkQmxvY2swfWdhc0xpbWl0YzlhMQowNBzUEDev9AKWlzIUT00u9w/gCzAnjKJcTFwyBFHn";
/** `zstd -19`: a genesis with the same account. */
const PLAIN =
  "KLUv/QRoNQMAUgYVGHBtGx5gp06wwVBkgXghAjzBMzyn/3+YAe+9dsf8Yrdtj4WUu7U95lVIPDAA6VH9YQ0znFWO+RTVGe5GILseZzW9HDNICUB1pHBsF36E6gpLXPOjBQAzplA4TaoWcGWkRsBmMgRR5w==";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rnode-zstd-"));
});

function write(name: string, bytes: Uint8Array): string {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, bytes);
  return path;
}
async function hashOf(path: string): Promise<string> {
  const file = await openGenesisFile(path);
  return bytesToHex(sealGenesis(file.head.header, file.head.config!, await file.readState()).hash);
}
const fromBase64 = (text: string): Uint8Array => Buffer.from(text, "base64");

it.each([
  ["beside the file", "extra/genesis/sepolia/dictionary"],
  ["where the registry has it", "extra/dictionary"],
])("a genesis is read with the dictionary %s", async (_, dictionary) => {
  write(dictionary, DICTIONARY);
  const path = write("extra/genesis/sepolia/a.json.zst", fromBase64(WITH_DICTIONARY));
  expect(await hashOf(path)).toBe(await hashOf(write("a.json", Buffer.from(TEXT))));
});

it("a genesis is read without a dictionary", async () => {
  const genesis = await openGenesisFile(write("a.json.zst", fromBase64(PLAIN)));
  expect(genesis.head.config?.chainId).toBe(1337n);
});

it("a missing dictionary, or another one, is named with the places it was looked for", async () => {
  const path = write("extra/genesis/sepolia/a.json.zst", fromBase64(WITH_DICTIONARY));
  const words =
    /a\.json\.zst: is compressed with dictionary 77, which is neither .*sepolia\/dictionary nor .*extra\/dictionary; .* put it beside/;
  await expect(openGenesisFile(path)).rejects.toThrow(words);
  const other = new Uint8Array(DICTIONARY);
  other[4] = 78;
  write("extra/dictionary", other);
  await expect(openGenesisFile(path)).rejects.toThrow(words);
});

it.each<[string, (packed: Buffer) => Uint8Array, RegExp]>([
  ["cut off", (packed) => packed.subarray(0, -10), /broken Zstandard data$/],
  ["cut off in its header", (packed) => packed.subarray(0, 5), /broken Zstandard data$/],
  // single segment with a size of eight bytes
  [
    "that says it is huge",
    () => Buffer.from("28b52ffde0ffffffffff000000", "hex"),
    /1099511627775 bytes when decompressed, at most/,
  ],
])("a file %s is refused", async (_, damage, words) => {
  const path = write("a.json.zst", damage(Buffer.from(PLAIN, "base64")));
  const opening = openGenesisFile(path);
  await expect(opening).rejects.toThrow(UserError);
  await expect(opening).rejects.toThrow(words);
});
