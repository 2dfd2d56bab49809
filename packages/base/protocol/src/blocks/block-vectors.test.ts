import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { bytesToHex, hexToBytes } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import { parseGenesis } from "../chains/genesis.ts";
import { chainConfigOfNetwork, networkByChainId } from "../chains/networks.ts";
import { nextBaseFee } from "../rules/base-fee.ts";
import { decodeTransaction, encodeTransaction, recoverSender } from "../transactions/transaction-codec.ts";
import { decodeHeader, encodeHeader, hashHeader } from "./header-codec.ts";
import { attributesFromJson } from "./payload-json.ts";

const repository = resolve(dirname(fileURLToPath(import.meta.url)), "../../../../..");
const vectors = process.env.RNODE_VECTORS ?? resolve(repository, "../shared/vectors");
const filesOf = (folder: string): string[] => (existsSync(join(vectors, folder)) ? readdirSync(join(vectors, folder)) : []);
const read = (folder: string, file: string): unknown =>
  JSON.parse(gunzipSync(readFileSync(join(vectors, folder, file))).toString());

interface BlockVector {
  readonly chainId: number;
  readonly parentHash: string;
  readonly parentHeaderRlp: string;
  readonly payloadAttributes: unknown;
  readonly expectedBlockHash: string;
  readonly expectedHeaderRlp?: string | null;
}

if (!existsSync(join(vectors, "blocks"))) {
  it.skip(`real blocks and genesis files were not read: ${vectors} is missing`, () => {});
} else {
  describe("real blocks", () => {
    it.each(filesOf("blocks").map((file) => [file]))("%s: headers, transactions and base fee", (file) => {
      const vector = read("blocks", file) as BlockVector;
      const parent = decodeHeader(hexToBytes(vector.parentHeaderRlp));
      expect(bytesToHex(hashHeader(parent))).toBe(vector.parentHash);
      const attributes = attributesFromJson(vector.payloadAttributes);
      for (const encoded of attributes.transactions ?? []) {
        const tx = decodeTransaction(encoded);
        expect(bytesToHex(encodeTransaction({ ...tx }))).toBe(bytesToHex(encoded));
        expect(recoverSender(tx)).toHaveLength(20);
      }
      if (vector.expectedHeaderRlp) {
        const header = decodeHeader(hexToBytes(vector.expectedHeaderRlp));
        expect(bytesToHex(hashHeader(header))).toBe(vector.expectedBlockHash);
        expect(bytesToHex(encodeHeader(header))).toBe(vector.expectedHeaderRlp);
        const config = chainConfigOfNetwork(networkByChainId(BigInt(vector.chainId))!.name);
        expect(nextBaseFee(config, parent, header.timestamp)).toBe(header.baseFeePerGas);
      }
    });
    it("are at least six", () => {
      expect(filesOf("blocks").length).toBeGreaterThanOrEqual(6);
    });
  });

  describe("real genesis files", () => {
    it.each(filesOf("genesis").map((file) => [file]))("%s parses", (file) => {
      const { alloc, config } = parseGenesis(read("genesis", file));
      expect(alloc.length).toBeGreaterThan(2000);
      expect(config).toBeUndefined();
    });
  });
}
