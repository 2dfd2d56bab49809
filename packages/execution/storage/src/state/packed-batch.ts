import { EMPTY_TRIE_ROOT } from "@rnode/primitives";
import { MAX_ACCOUNT_RLP_BYTES, PACKED_COUNT_SIZE, PACKED_HEAD_SIZE, PACKED_SLOT_SIZE, writeAccountFields } from "@rnode/trie";
import { writeUint32 } from "../database/keys.ts";
import { readRecordedAccount } from "./account-value.ts";
import { NONE, type StateBatch } from "./state-batch.ts";

const ADDRESS_SIZE = 20;
const WORD_SIZE = 32;
const SLOT_KEY_SIZE = 4 + WORD_SIZE;
const MAX_ACCOUNT_SIZE = PACKED_HEAD_SIZE + MAX_ACCOUNT_RLP_BYTES + PACKED_COUNT_SIZE;
/** nonce 8 ‖ balance 32 ‖ code hash 32 */
const FIELDS_SIZE = 8 + 32 + 32;

/** The accounts and slots of a batch that clears no storage, as they are after its last block, as `LinearStateTrie` takes them. */
export function packBatch(batch: StateBatch): Uint8Array<ArrayBuffer> {
  const { accounts, slots } = batch;
  const packed = new Uint8Array(accounts.count * MAX_ACCOUNT_SIZE + slots.count * PACKED_SLOT_SIZE);
  const fields = new Uint8Array(FIELDS_SIZE);
  let at = 0;
  for (let account = 0; account < accounts.count; account++) {
    copy(accounts.bytes, account * ADDRESS_SIZE, packed, at, ADDRESS_SIZE);
    readRecordedAccount(batch.rows.bytes, batch.stepRowAt.values[batch.lastStep.values[account]!]!, fields);
    const rlpAt = at + PACKED_HEAD_SIZE;
    const rlpEnd = writeAccountFields(packed, rlpAt, fields, 0, EMPTY_TRIE_ROOT);
    packed[rlpAt - 1] = rlpEnd - rlpAt;
    at = rlpEnd + PACKED_COUNT_SIZE;
    let count = 0;
    for (let slot = batch.firstSlot.values[account]!; slot !== NONE; slot = batch.nextSlotOfAccount.values[slot]!) {
      copy(slots.bytes, slot * SLOT_KEY_SIZE + SLOT_KEY_SIZE - WORD_SIZE, packed, at, WORD_SIZE);
      copy(batch.values.bytes, batch.lastWrite.values[slot]! * WORD_SIZE, packed, at + WORD_SIZE, WORD_SIZE);
      at += PACKED_SLOT_SIZE;
      count++;
    }
    writeUint32(packed, rlpEnd, count);
  }
  return packed.slice(0, at);
}

function copy(from: Uint8Array, fromAt: number, to: Uint8Array, toAt: number, count: number): void {
  for (let i = 0; i < count; i++) to[toAt + i] = from[fromAt + i]!;
}
