import { tmpdir } from "node:os";
import { GenesisState } from "@rnode/chain";
import { bytesToHex, type Hex, keccak256, uint64ToBytes } from "@rnode/primitives";
import { parseGenesisAccount } from "@rnode/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { readStateLines } from "./state-lines.ts";

interface Account {
  readonly address: Hex;
  readonly balance?: string;
  readonly nonce?: string | number;
  readonly code?: string;
  readonly storage?: Readonly<Record<string, string>>;
}

const NOBODY = new Uint8Array(20);
const states: GenesisState[] = [];
afterEach(() => {
  for (const state of states.splice(0)) state.close();
});

const rootOf = (state: GenesisState): Hex => bytesToHex(state.seal(NOBODY).stateRoot);

async function* pieces(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function read(text: string, size = 1 << 16) {
  const state = new GenesisState();
  states.push(state);
  const lines = await readStateLines(pieces(text, size), state, { source: "state.jsonl", folder: tmpdir() });
  return { ...lines, root: lines.root, accounts: lines.accounts, slots: lines.slots, stateRoot: rootOf(state) };
}

function expected(accounts: readonly Account[]): Hex {
  const state = GenesisState.of(accounts.map(({ address, ...account }) => parseGenesisAccount(address, account, "")));
  states.push(state);
  return rootOf(state);
}

const hash = (seed: number): Hex => bytesToHex(keccak256(uint64ToBytes(seed)));
const addressOf = (seed: number): Hex => `0x${hash(seed).slice(2, 42)}`;
const ROOT = hash(0);
const storageOf = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [hash(1_000 + i), `0x${(i + 1).toString(16)}`]));

const ACCOUNTS: readonly Account[] = [
  { address: addressOf(1), balance: "0x1" },
  { address: addressOf(2), nonce: "0x7", code: "0x60006000", storage: storageOf(3) },
  { address: addressOf(3), balance: "0x0", nonce: 9, storage: storageOf(12_000) }, // in two parts
  { address: addressOf(4) },
];
/** The order in which op-reth's dumps have them. */
const addressLast = ({ address, ...rest }: Account): string => JSON.stringify({ ...rest, address });
const text = (lines: readonly string[]): string => `${lines.join("\n")}\n`;

describe("a state as lines of JSON", () => {
  it.each([
    ["the address first", (account: Account) => JSON.stringify(account), 1 << 16],
    ["the address last, as op-reth has it", addressLast, 1 << 16],
    ["in pieces of few bytes", addressLast, 1009],
  ])("is read with %s", async (_, line, size) => {
    const lines = [JSON.stringify({ root: ROOT }), ...ACCOUNTS.map(line)];
    expect(await read(text(lines), size)).toMatchObject({ accounts: 4, slots: 12_003, stateRoot: expected(ACCOUNTS) });
    expect(bytesToHex((await read(text(lines), size)).root!)).toBe(ROOT);
  });

  it("is read without a root, with geth's additional fields, and without the last line's end", async () => {
    const lines = ACCOUNTS.map((account) => JSON.stringify({ ...account, root: ROOT, codeHash: ROOT, key: ROOT }));
    expect(await read(lines.join("\n"))).toMatchObject({ root: undefined, stateRoot: expected(ACCOUNTS) });
    expect(await read("")).toMatchObject({ accounts: 0, slots: 0 });
  });

  it("is read with words in any form of hex", async () => {
    const slots = [
      '"0x01":"0x2"',
      '"3":"04"',
      '"0xAbC" : "0xDEF"',
      '"\\u0030x5":"\\u0036"',
      `"${hash(7)}":"${hash(8).toUpperCase().slice(2)}"`,
    ];
    const storage = { "0x1": "0x2", "0x3": "0x4", "0xabc": "0xdef", "0x5": "0x6", [hash(7)]: hash(8) };
    const line = `{"storage":{${slots.join(",")},"0x9":"0x0"},"address":"${addressOf(1)}"}`;
    expect(await read(line)).toMatchObject({ stateRoot: expected([{ address: addressOf(1), storage }]) });
  });

  it.each<[string, string, RegExp]>([
    ["a word of no hex", `{"storage":{"0x1":"0x2","0x3":"0xg"},"address":"${addressOf(1)}"}`, /object 1: .*0xg/],
    ["a word of too many digits", `{"storage":{"0x1":"0x${"1".repeat(65)}","0x3":"0x1"}}`, /object 1: .*at most 32 bytes of hex/],
    ["no JSON", "hello\n", /^state\.jsonl: object 0: not JSON: no object at byte 0/],
    ["a list", "[]\n", /object 0: not JSON: no object/],
    ["an account that is cut off", `${JSON.stringify(ACCOUNTS[0]).slice(0, -3)}`, /object 1: not JSON: the text ends/],
    [
      "an account without its address",
      text([JSON.stringify({ root: ROOT }), '{"balance":"0x1"}']),
      /object 2: address: .*without preimages/,
    ],
    ["an empty object", text(["{}"]), /object 1: address/],
    ["two roots", text([JSON.stringify({ root: ROOT }), JSON.stringify({ root: ROOT })]), /object 2: address/],
    ["a root that is none", text(['{"root":"0x12"}']), /object 1: root/],
    ["an unknown field", text([JSON.stringify({ ...ACCOUNTS[0], owner: 1 })]), /object 1: owner: expected no such field/],
    [
      "a field twice",
      text([`{"balance":"0x1","balance":"0x2","address":"${addressOf(1)}"}`]),
      /object 1: balance: expected one of this name/,
    ],
    ["a bad address", text(['{"address":"0x12"}']), /object 1: .*0x12/],
    ["a bad balance", text([JSON.stringify({ address: addressOf(1), balance: "0xzz" })]), /object 1: .*balance/],
    [
      "a slot of 33 bytes",
      text([JSON.stringify({ address: addressOf(1), storage: { [`${hash(1)}00`]: "0x1" } })]),
      /object 1: .*storage/,
    ],
  ])("is refused with %s", async (_, given, reason) => {
    await expect(read(given)).rejects.toThrow(reason);
  });

  it("is refused with an account or a slot twice", async () => {
    const twice = [ACCOUNTS[0]!, ACCOUNTS[0]!].map((account) => JSON.stringify(account));
    await expect(read(text(twice))).rejects.toThrow(/genesis\/duplicate-account|twice|duplicate/);
  });
});
