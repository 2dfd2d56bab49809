import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { asciiToBytes, bytesToHex, concatBytes, type Hex, hexToBytes, keccak256 } from "@rnode/primitives";
import {
  type DepositTransaction,
  encodeTransaction,
  OP_FORKS,
  type OpFork,
  parseGenesis,
  upgradeArtifactsFromFiles,
  upgradesOfBlock,
} from "@rnode/protocol";
import { afterEach, describe, expect, it } from "vitest";
import {
  attributesDeposit,
  BLOCK_TIME_SEC,
  type DevChain,
  devConfig,
  GENESIS_TIME_SEC,
  openDevChain,
  produce,
} from "../testing/dev-chain.ts";

/*
 * Upstream publishes the predeploys before and after a fork's bundle: `<fork>_state.json` of op-core/nuts/state, beside the bundles. The
 * folder of upgrades may have them.
 */

interface Account {
  readonly code?: Hex;
  readonly nonce?: Hex;
  readonly balance: Hex;
  readonly storage?: Readonly<Record<Hex, Hex>>;
}
type State = Readonly<Record<Hex, Account>>;

const folder = process.env.RNODE_ROLLUP_UPGRADES_DIR;
const pathOf = (fork: OpFork): string => join(folder ?? "", `${fork}_state.json`);
const stateAfter = (fork: OpFork): State => JSON.parse(readFileSync(pathOf(fork), "utf8")) as State;
const FORKS = (["karst", "lagoon"] as const).filter((fork) => folder !== undefined && existsSync(pathOf(fork)));
if (FORKS.length === 0) console.log("not run: the state after bundles (RNODE_ROLLUP_UPGRADES_DIR with <fork>_state.json)");

const NAMESPACE_SIZE = 2048;
const PROXY = "0x4200000000000000000000000000000000000000";
const PROXY_ADMIN = "0x4200000000000000000000000000000000000018";
const ADMIN_SLOT = "0xb53127684a568b3173ae13b9f8a6016e243e63b6e8ee1178d6a717850b5d6103";
const L1_BLOCK = "0x4200000000000000000000000000000000000015";
const DEV_FEATURE_FLAGS = "0x420000000000000000000000000000000000002d";
const IMPLEMENTATION_SLOT = "0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc";
const ETH_LIQUIDITY = "0x4200000000000000000000000000000000000025";
const MESSAGE_PREDEPLOYS: readonly Hex[] = [
  "0x4200000000000000000000000000000000000022",
  "0x4200000000000000000000000000000000000023",
  "0x4200000000000000000000000000000000000024",
  ETH_LIQUIDITY,
];
/** of L1Block: what the attributes deposit of each block writes */
const L1_INFO_SLOTS = 9;

const word = (hex: string): Hex => `0x${hex.padStart(64, "0")}`;

/** Every address of the namespace is a proxy, also those that have no implementation yet. */
function genesisOf(state: State) {
  const { code } = state[PROXY]!;
  const proxy = { balance: "0x0", code, storage: { [ADMIN_SLOT]: word(PROXY_ADMIN.slice(2)) } };
  const namespace = Array.from({ length: NAMESPACE_SIZE }, (_, suffix) => [`0x42${suffix.toString(16).padStart(38, "0")}`, proxy]);
  return parseGenesis({
    config: null,
    timestamp: GENESIS_TIME_SEC,
    gasLimit: "0x1c9c380",
    extraData: "0x01000000fa000000060000000000000000",
    baseFeePerGas: "0x3b9aca00",
    alloc: { ...Object.fromEntries(namespace), ...state },
  });
}

function accountAt({ chain }: DevChain, address: Hex, slots: Iterable<Hex>): Account | undefined {
  const view = chain.stateAt(chain.head())!;
  const account = view.readAccount(hexToBytes(address));
  if (account === undefined) return undefined;
  const storage = [...slots].flatMap((slot) => {
    const value = view.readStorage(hexToBytes(address), hexToBytes(slot));
    return value === undefined || value.every((byte) => byte === 0) ? [] : [[slot, bytesToHex(value)] as const];
  });
  const code = view.readCode(account.codeHash);
  return {
    balance: `0x${account.balance.toString(16)}`,
    nonce: `0x${account.nonce.toString(16)}`,
    ...(code.length > 0 && { code: bytesToHex(code) }),
    ...(storage.length > 0 && { storage: Object.fromEntries(storage) }),
  };
}

const isL1Info = (address: string, slot: string): boolean => address === L1_BLOCK && BigInt(slot) < L1_INFO_SLOTS;

describe.skipIf(FORKS.length === 0)("the first block of a fork with a bundle", () => {
  let dev: DevChain;
  afterEach(() => dev.remove());

  /** A chain with this state before the fork, and its first block. @returns the status of each upgrade transaction */
  function cross(
    fork: OpFork,
    before: State,
    {
      isInCluster = false,
      earlier = [],
    }: { readonly isInCluster?: boolean; readonly earlier?: readonly DepositTransaction[] } = {},
  ): (number | undefined)[] {
    const previous = OP_FORKS[OP_FORKS.indexOf(fork) - 1]!;
    const config = devConfig(previous);
    const forkTimeSec = GENESIS_TIME_SEC + 2 * BLOCK_TIME_SEC;
    const forkTimes = { [previous]: 0, [fork]: forkTimeSec };
    dev = openDevChain(previous, {
      genesis: genesisOf(before),
      config: { ...config, optimism: { ...config.optimism!, forkTimes } },
    });
    const files = readdirSync(folder!).map((name) => ({ name, content: readFileSync(join(folder!, name)) }));
    const { transactions, extraGas } = upgradesOfBlock(
      { forkTimes, blockTimeSec: BLOCK_TIME_SEC, lagoonPreliminary: true },
      forkTimeSec,
      {
        source: upgradeArtifactsFromFiles(files),
        isInCluster,
      },
    );
    const l1Info = { ...attributesDeposit(1), data: new Uint8Array(0) };
    produce(dev, 1, { transactions: [l1Info, ...earlier].map(encodeTransaction) });
    produce({ ...dev, fork }, 1, {
      transactions: [l1Info, ...transactions].map(encodeTransaction),
      gasLimit: 30_000_000n + extraGas,
    });
    return dev.chain
      .resolve({ kind: "tag", tag: "latest" })!
      .receipts.slice(1)
      .map(({ status }) => status);
  }

  it.each(FORKS)("%s: changes the predeploys as it does upstream", (fork) => {
    const [before, after] = [stateAfter(OP_FORKS[OP_FORKS.indexOf(fork) - 1]!), stateAfter(fork)];
    expect(new Set(cross(fork, before))).toEqual(new Set([1]));
    for (const address of Object.keys({ ...before, ...after }) as Hex[]) {
      const slots = new Set(Object.keys({ ...before[address]?.storage, ...after[address]?.storage }) as Hex[]);
      for (const slot of slots) if (isL1Info(address, slot)) slots.delete(slot);
      const expected = after[address] ?? before[address]!;
      const storage = Object.entries(expected.storage ?? {}).filter(
        ([slot, value]) => !isL1Info(address, slot) && BigInt(value) !== 0n,
      );
      const { nonce = "0x0", balance, code } = expected;
      expect({ address, ...accountAt(dev, address, slots) }).toEqual({
        address,
        balance,
        nonce,
        ...(code !== undefined && { code }),
        ...(storage.length > 0 && { storage: Object.fromEntries(storage) }),
      });
    }
  });

  // docs/protocol/02-derivation.md#network-upgrade-transactions
  it.each([false, true])("Lagoon in a cluster turns messages on where the development flag is set: %s", (isSet) => {
    const setFlag: DepositTransaction = {
      ...attributesDeposit(2),
      to: hexToBytes(DEV_FEATURE_FLAGS),
      data: concatBytes(keccak256(asciiToBytes("setDevFeatureBitmap(bytes32)")).subarray(0, 4), hexToBytes(word("1"))),
    };
    const statuses = cross("lagoon", stateAfter("karst"), { isInCluster: true, earlier: isSet ? [setFlag] : [] });
    expect(statuses.slice(0, 28)).toEqual(Array.from({ length: 28 }, () => 1));
    expect(statuses.slice(28)).toEqual(isSet ? [1, 1] : [0, 0]);
    const implementations = MESSAGE_PREDEPLOYS.map(
      (address) => accountAt(dev, address, [IMPLEMENTATION_SLOT])?.storage !== undefined,
    );
    expect(implementations).toEqual(MESSAGE_PREDEPLOYS.map(() => isSet));
    const funds = accountAt(dev, ETH_LIQUIDITY, [])!.balance;
    expect(BigInt(funds)).toBe(isSet ? (1n << 128n) - 1n : 0n);
  });
});
