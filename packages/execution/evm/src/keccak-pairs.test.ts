import { bytesToHex, concatBytes, hexToBytes, keccak256 } from "@rnode/primitives";
import { expect, it } from "vitest";
import { createEvm } from "./evm.ts";
import { engineModule } from "./testing/engine.ts";
import { address, addressHex, environment, ethereumRules, MemoryState } from "./testing/memory-state.ts";

const CODE_ADDRESS = addressHex(0x1000);

/** Returns the digests of the calldata's pieces of 64 bytes. */
const CODE = hexToBytes(
  `0x${[
    "5f5b", // offset = 0; loop:
    "6040815f37", // calldatacopy(0, offset, 64)
    "60405f20", // keccak256(0, 64)
    "8160011c60400152", // mstore(64 + offset / 2, digest)
    "604001803611600157", // offset += 64; while calldatasize > offset
    "60011c6040f3",
  ].join("")}`,
);

/** Pairs that differ in only one of their 64-bit limbs. Some of them share an entry of the engine's cache. */
function pairs(): Uint8Array[] {
  const all: Uint8Array[] = [];
  for (let limb = 0; limb < 8; limb++) {
    for (let value = 0; value < 200; value++) {
      const pair = new Uint8Array(64).fill(0x11);
      new DataView(pair.buffer).setUint32(8 * limb + (value % 2) * 4, value);
      all.push(pair);
    }
  }
  return all;
}

it("digests of pairs are those of the pair, whatever was hashed before", () => {
  const block = createEvm(engineModule).beginBlock(
    ethereumRules("cancun"),
    environment,
    new MemoryState({ [CODE_ADDRESS]: { code: CODE } }),
  );
  const digests = (inputs: readonly Uint8Array[]): string => {
    const message = { from: address(addressHex(1)), to: address(CODE_ADDRESS), gasLimit: 20_000_000n, value: 0n, gasPrice: 0n };
    const { output, halt } = block.call({ ...message, data: concatBytes(...inputs) });
    expect(halt).toBeUndefined();
    return bytesToHex(output);
  };
  const inputs = pairs();
  // a pair that comes twice in a row is found in the cache; in reverse order, other pairs have taken the entries in between
  const zeros = new Uint8Array(64);
  // after many pairs that were not found, a pair is kept only once it comes again
  const afterMisses = [...inputs, zeros, ...inputs, zeros, zeros, zeros];
  for (const order of [afterMisses, inputs.flatMap((pair) => [pair, pair]), inputs.toReversed(), afterMisses, [zeros]]) {
    expect(digests(order)).toBe(bytesToHex(concatBytes(...order.map((pair) => keccak256(pair)))));
  }
});
