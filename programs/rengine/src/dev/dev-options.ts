import { DEFAULT_DEV_FORK, DEV_FORKS, DEV_MNEMONIC } from "@rnode/dev-chain";
import {
  bigUint,
  bool,
  duration,
  httpUrl,
  integerBetween,
  oneOf,
  optionGroup,
  type Parser,
  path,
  text,
  uint,
} from "@rnode/program";

/** anvil's */
export const DEFAULT_CHAIN_ID = 31_337;

const MIB = 1024 * 1024;
const size = integerBetween(1, 65_536);
/** MiB, parsed into bytes. */
const mebibytes: Parser<number> = {
  ...size,
  parse: (value) => {
    const parsed = size.parse(value);
    return parsed === undefined ? undefined : parsed * MIB;
  },
  format: (bytes) => size.format(bytes / MIB),
};

/** `rengine --dev`: a chain that makes its own blocks. */
export const dev = optionGroup("dev", {
  enabled: {
    parse: bool,
    flag: "dev",
    default: false,
    help: "Run a development chain under Ethereum's rules: funded accounts, blocks made here, blobs, a beacon endpoint and the methods of test tools, all on --http.port.",
  },
  blockTimeMs: {
    parse: duration,
    needs: "dev",
    help: "Time between blocks. Default: a block with each transaction.",
  },
  noMining: { parse: bool, default: false, needs: "dev", help: "Make blocks only when one is asked for (evm_mine)." },
  slotTimeSec: {
    parse: integerBetween(1, 3600),
    flag: "dev.slot-time",
    needs: "dev",
    unit: "seconds",
    help: "Length of the beacon chain's slots. Default: the time between blocks, or 1.",
  },
  slotsInAnEpoch: {
    parse: integerBetween(1, 1024),
    default: 32,
    needs: "dev",
    unit: "slots",
    help: "The safe block is as many blocks behind the latest, the finalized one twice as many.",
  },
  fork: {
    parse: oneOf(...DEV_FORKS),
    default: DEFAULT_DEV_FORK,
    needs: "dev",
    help: "Fork that a new chain begins with. A genesis file (--chain) has its own.",
  },
  chainId: {
    parse: integerBetween(1, Number.MAX_SAFE_INTEGER),
    default: DEFAULT_CHAIN_ID,
    needs: "dev",
    help: "Chain id of a new chain.",
  },
  accounts: { parse: integerBetween(0, 1000), default: 10, needs: "dev", help: "Number of accounts with keys and funds." },
  balanceEther: {
    parse: uint,
    flag: "dev.balance",
    default: 10_000,
    needs: "dev",
    unit: "ether",
    help: "Funds of each account of a new chain.",
  },
  mnemonic: { parse: text, default: DEV_MNEMONIC, needs: "dev", help: "Phrase that the accounts' keys come from." },
  forkUrl: {
    parse: httpUrl,
    flag: "fork-url",
    needs: "dev",
    isMistakeAlone: true,
    help: "Begin with the state of another chain, of Ethereum or the OP Stack, fetched from this endpoint as it is touched. --chain names its rules if no table has them.",
  },
  forkBlock: {
    parse: uint,
    flag: "fork-block",
    needs: "fork-url",
    isMistakeAlone: true,
    help: "Block whose state a fork begins with. Default: the endpoint's latest.",
  },
  forkCache: {
    parse: path,
    flag: "fork-cache",
    needs: "fork-url",
    help: "Folder that keeps what is fetched of fork blocks, for later starts. Default: it is kept in memory only.",
  },
  forkCacheBytes: {
    parse: mebibytes,
    flag: "fork-cache.size",
    needs: "fork-cache",
    default: 256 * MIB,
    unit: "MiB",
    help: "Size of that folder; the blocks that were not used for longest are removed first.",
  },
  clientName: {
    parse: text,
    needs: "dev",
    help: "What web3_clientVersion and hardhat_metadata answer, for tools that work with clients they know only: anvil/v1.0.0 for Hardhat's network helpers. Default: rengine's own.",
  },
  gasLimit: { parse: bigUint, default: 30_000_000n, needs: "dev", unit: "gas", help: "Gas limit of the blocks." },
  baseFeeWei: {
    parse: bigUint,
    flag: "dev.base-fee",
    default: 1_000_000_000n,
    needs: "dev",
    unit: "wei",
    help: "Base fee of a new chain's first block.",
  },
  timestampSec: {
    parse: uint,
    flag: "dev.timestamp",
    needs: "dev",
    unit: "seconds",
    help: "Time of a new chain's genesis. Default: now.",
  },
  blobRetentionSlots: {
    parse: integerBetween(1, Number.MAX_SAFE_INTEGER),
    flag: "dev.blob-retention",
    default: 131_072,
    needs: "dev",
    unit: "slots",
    help: "How long blobs are kept.",
  },
});
