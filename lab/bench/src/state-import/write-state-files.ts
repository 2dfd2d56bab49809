import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { GenesisState, sealGenesis } from "@rnode/chain";
import { bytesToHex, toQuantity } from "@rnode/primitives";
import { type Header, parseChainConfig, parseGenesisHead } from "@rnode/protocol";
import { headerOf } from "@rnode/protocol/testing";
import { CHAIN_CONFIG, GENESIS_HEADER_JSON, timestampOf, writeGenesisFile } from "../import/import-generate.ts";
import { generatedAccounts, type StateSize, slotOf } from "./generated-state.ts";

export interface StateFiles {
  readonly genesis: string;
  readonly lines: string;
  /** of the block that the state is after: the first after the genesis, without transactions */
  readonly header: Header;
}

const PIECE_CHARS = 1 << 20;

/** Writes a state as lines of JSON, with a genesis of no accounts, and a block after it that has the state's root. */
export function writeStateFiles(folder: string, size: StateSize): StateFiles {
  const files = { genesis: join(folder, "genesis.json"), lines: join(folder, "state.jsonl") };
  const state = new GenesisState({ folder });
  const file = openSync(files.lines, "w");
  let text = "";
  const write = (more: string): void => {
    text += more;
    if (text.length < PIECE_CHARS) return;
    writeSync(file, text);
    text = "";
  };
  for (const { address, nonce, balance, code, firstSlot, slots } of generatedAccounts(size)) {
    state.add({ address, nonce, balance, code, storage: [] });
    write(`{"balance":"${toQuantity(balance)}","nonce":"${toQuantity(nonce)}"`);
    if (code.length > 0) write(`,"code":"${bytesToHex(code)}"`);
    for (let i = 0; i < slots; i++) {
      const slot = slotOf(firstSlot + i);
      state.addSlot(address, slot);
      write(`${i === 0 ? ',"storage":{' : ","}"${bytesToHex(slot.slot)}":"${bytesToHex(slot.value)}"`);
    }
    write(`${slots > 0 ? "}" : ""},"address":"${bytesToHex(address)}"}\n`);
  }
  writeSync(file, text);
  closeSync(file);
  const { stateRoot } = state.seal(new Uint8Array(20));
  state.close();
  return { ...files, header: writeChain(files.genesis, stateRoot) };
}

/** Writes the genesis. @returns the header of the block that has the state root */
function writeChain(file: string, stateRoot: Uint8Array): Header {
  writeGenesisFile(file, []);
  const { header } = parseGenesisHead({ ...GENESIS_HEADER_JSON, config: CHAIN_CONFIG });
  const genesis = sealGenesis(header, parseChainConfig(CHAIN_CONFIG), GenesisState.of([]));
  return headerOf({ ...genesis.block.header, parentHash: genesis.hash, number: 1, timestamp: timestampOf(1), stateRoot });
}
