import { bytesToHex, EMPTY_BYTES, type Hex } from "@rnode/primitives";
import { encodeTransaction } from "@rnode/protocol";
import { afterAll, describe, expect, it } from "vitest";
import { BlockRun } from "../execute/block-run.ts";
import { newEngine } from "../execute/engine-module.ts";
import { PreparedBlock } from "../prepared-block.ts";
import { openDevChain } from "../testing/dev-chain.ts";
import { MODEL_KINDS, ModelChain } from "../testing/model-chain.ts";
import { rulesOfBlock } from "../validation/rules.ts";
import { IntermediateRoots } from "./intermediate-roots.ts";
import { stateUpdate } from "./state-root.ts";

const engine = newEngine();

describe("the state roots within a block", () => {
  const opened: { remove(): Promise<void> }[] = [];
  afterAll(async () => {
    for (const dev of opened) await dev.remove();
  });

  for (const kind of MODEL_KINDS)
    it(`are those of all changes since the block began, for random blocks: ${kind}`, {
      tags: kind === "jovian" ? [] : "long",
    }, async () => {
      const model = new ModelChain(kind, 21);
      const { config, genesis } = model;
      const dev = openDevChain("jovian", { config, genesis });
      opened.push(dev);
      const blocks = model.extend(model.first, 40);
      let counted = 0;
      for (const { block, hash, parent, senders } of blocks) {
        const id = { number: block.header.number - 1, hash: bytesToHex(parent!.hash) };
        const state = dev.chain.stateAt(id)!;
        const nodes = dev.chain.trieNodesAt(id)!;
        const trie = {
          stateRoot: parent!.block.header.stateRoot,
          nodes,
          storageRootOf: (address: Uint8Array) => state.readAccount(address)?.storageRoot,
        };
        const intermediate = new IntermediateRoots(trie);
        const run = new BlockRun({
          config,
          engine,
          rules: rulesOfBlock(config, block.header),
          reader: state,
          parent: parent!.block.header,
          header: block.header,
          create2DeployerCode: () => EMPTY_BYTES,
          intermediateRoot: (changes) => stateUpdate(trie, changes).stateRoot,
          gasRefunds: undefined,
        });
        const own: Hex[] = [];
        const expected: Hex[] = [];
        for (const [index, transaction] of block.transactions.entries()) {
          run.apply(transaction, senders[index]!, encodeTransaction(transaction));
          const changes = run.execution.changes();
          own.push(bytesToHex(intermediate.next(changes)));
          expected.push(bytesToHex(stateUpdate(trie, changes).stateRoot));
          counted++;
        }
        expect(own).toEqual(expected);
        dev.chain.newPayload(new PreparedBlock(block));
        const zero = new Uint8Array(32);
        dev.chain.forkchoiceUpdated({ headBlockHash: hash, safeBlockHash: zero, finalizedBlockHash: zero }, undefined, 3);
      }
      expect(counted).toBeGreaterThan(40);
    });
});
