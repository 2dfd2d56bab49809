import {
  bool,
  duration,
  httpUrl,
  integerBetween,
  type OptionsOfAll,
  oneOf,
  optionGroup,
  optionTable,
  type Parser,
  path,
  pprofOptions,
  uint,
  withDefaults,
} from "@rnode/program";
import { DEFAULT_L1, DEFAULT_OPTIONS } from "./devnet.ts";
import { LOCAL_L1_KINDS } from "./files.ts";
import { type AltDaParameters, altDaParameters, DA_COMMITMENTS, DEFAULT_PARAMETERS } from "./parameters.ts";
import { PORT_USES } from "./ports.ts";
import { SYNC_MODES } from "./processes/commands.ts";
import { conflictOfSet } from "./set/devnet-set.ts";

const SECONDS = integerBetween(1, 600);
const BASE_PORT = integerBetween(0, 65_536 - PORT_USES.length);

const kind = oneOf(...DA_COMMITMENTS);
const altDa: Parser<AltDaParameters> = {
  bare: DA_COMMITMENTS[0],
  placeholder: kind.placeholder,
  expects: kind.expects,
  parse: (value) => {
    const commitments = kind.parse(value);
    return commitments && altDaParameters(commitments);
  },
  format: ({ commitments }) => commitments,
};

const kindOfL1 = oneOf(...LOCAL_L1_KINDS);
const l1: Parser<string> = {
  placeholder: `${kindOfL1.placeholder}|url`,
  expects: `${LOCAL_L1_KINDS.join(", ")} or a URL starting with http:// or https://`,
  parse: (value) => kindOfL1.parse(value) ?? httpUrl.parse(value),
  format: String,
};

const onOrOff: Parser<boolean> = {
  ...bool,
  expects: "on or off",
  parse: (value) => (value === "on" ? true : value === "off" ? false : bool.parse(value)),
};

const parameters = optionGroup("", {
  l1BlockTimeSec: {
    parse: SECONDS,
    flag: "l1-block-time",
    unit: "seconds",
    help: `Time between L1 blocks (new chain: ${DEFAULT_PARAMETERS.l1BlockTimeSec}).`,
  },
  l2BlockTimeSec: {
    parse: SECONDS,
    flag: "block-time",
    unit: "seconds",
    help: `Time between L2 blocks; fixed at genesis (new chain: ${DEFAULT_PARAMETERS.l2BlockTimeSec}).`,
  },
  proofs: {
    parse: oneOf("oracle", "games"),
    flag: "withdrawals",
    help: `What withdrawals are proven against; fixed at genesis (new chain: ${DEFAULT_PARAMETERS.proofs}). oracle: outputs in an L2OutputOracle. games: permissioned dispute games, which the devnet resolves when their time is over.`,
  },
  finalizationPeriodSec: {
    parse: SECONDS,
    flag: "withdrawal-window",
    unit: "seconds",
    help: `How long a proven withdrawal waits; fixed at genesis (new chain: ${DEFAULT_PARAMETERS.finalizationPeriodSec}).`,
  },
  altDa: {
    parse: altDa,
    flag: "altda",
    help: "Keep batches on a DA server of the devnet, with commitments of this kind on L1; fixed at genesis (new chain: batches are on L1).",
  },
});

const devnet = optionGroup("", {
  l1: {
    parse: l1,
    help: `What runs as L1; fixed at genesis (new chain: ${DEFAULT_L1}). rengine: a development chain of our own, with a beacon endpoint. anvil: Foundry's. A URL: an L1 that runs already, where the accounts of the devnet have ether.`,
  },
  l1Beacon: {
    parse: httpUrl,
    flag: "l1-beacon",
    help: "Beacon node of an L1 given by its URL; without one, batches are calldata.",
  },
  l1FunderKeyFile: {
    parse: path,
    flag: "l1-funder-key-file",
    help: "File with the private key of an account that pays for what the devnet's accounts lack on an L1 given by its URL.",
  },
  mnemonicFile: {
    parse: path,
    help: "File with the mnemonic of the devnet's accounts; fixed at genesis (new chain: the test mnemonic, which everybody knows).",
  },
  basePort: {
    parse: BASE_PORT,
    default: DEFAULT_OPTIONS.basePort,
    help: `First of ${PORT_USES.length} consecutive ports. 0: any free ports.`,
  },
  blobs: {
    parse: onOrOff,
    help: "Publish batches as blobs: on or off, which is calldata (on where L1 has a beacon endpoint, off with --altda).",
  },
  datadir: { parse: path, default: path.parse("data/devnet")!, help: "Folder of the chains, the logs and devnet.json." },
  fresh: { parse: bool, default: false, help: "Delete the chain in the data directory and start a new one." },
  chains: {
    parse: integerBetween(1, 5),
    check: (value, other) =>
      value === 1
        ? undefined
        : conflictOfSet({
            sequencers: Number(other("sequencers")),
            isLight: other("light") === true,
            syncmode: other("syncmode") === "execution-layer" ? "execution-layer" : "consensus-layer",
          }),
    help: "Rollups on one L1; fixed at genesis (new chain: 1). More than one: they are a set whose chains execute messages of each other, verified by rnode set, with a relayer. Each has a sequencer and a verifier.",
  },
  upgradesDir: {
    parse: path,
    flag: "upgrades-dir",
    help: "Folder with karst_nut_bundle.json and lagoon_nut_bundle.json, the contracts that --chains needs. Missing ones are fetched into it, from GitHub (default: upgrades in the data directory).",
  },
  nodes: {
    parse: integerBetween(2, 3),
    default: 3,
    help: "3: sequencer, verifier and follower, with P2P between them. 2: no follower and no P2P, so that the verifier knows L1 only; takes less memory. Without effect on --chains: each of them has two.",
  },
  sequencers: {
    parse: integerBetween(1, 5),
    default: DEFAULT_OPTIONS.sequencers,
    check: (_, other) => (other("nodes") === 2 ? "several sequencers are connected by P2P, which --nodes=2 leaves out" : undefined),
    help: "Sequencers, of which one leads. More than one: each with a conductor, on an etcd that is started here (and must be installed); users, batch submitter and proposer follow the leader.",
  },
  exitAfterMs: { parse: duration, help: "Stop cleanly after this time; useful in scripts." },
  dashboard: {
    parse: bool,
    default: true,
    help: "Serve a page that shows all programs at work; its address is printed at the start.",
  },
  subblocks: {
    parse: bool,
    default: DEFAULT_OPTIONS.subblocks,
    help: "Publish blocks in parts while they are built. The sequencer answers a receipt with its block, its peers (--nodes=3) before it. Always with several sequencers.",
  },
  supervise: { parse: bool, default: true, help: "Restart a program that ends by itself." },
  sequencerL1Confs: {
    parse: uint,
    default: DEFAULT_OPTIONS.sequencerL1Confs,
    unit: "L1 blocks",
    help: "Distance the sequencer keeps from the L1 head when choosing an L1 origin.",
  },
  syncmode: {
    parse: oneOf(...SYNC_MODES),
    default: DEFAULT_OPTIONS.syncmode,
    check: (value, other) =>
      value === "execution-layer" && other("nodes") === 2 ? "execution-layer needs peers, which --nodes=2 leaves out" : undefined,
    help: "How verifier and follower catch up. consensus-layer: they derive all blocks from L1. execution-layer: their rengine gets blocks from the sequencer's and from each other, up to what P2P says is the head.",
  },
  isLight: {
    parse: bool,
    flag: "light",
    default: DEFAULT_OPTIONS.isLight,
    check: (value, other) =>
      value === true && other("nodes") === 2 ? "the follower is the light node, which --nodes=2 leaves out" : undefined,
    help: "The follower derives nothing (light mode): it takes safe blocks from the verifier.",
  },
  statusIntervalMs: {
    parse: duration,
    default: 10_000,
    help: "How often the status is printed when the output is not a terminal.",
  },
});

export const devnetOptionTable = optionTable({
  program: "npm start --",
  summary: "Runs an L1, a sequencer, a batch submitter, a verifier and a follower on this machine.",
  envPrefix: "DEVNET_",
  groups: { parameters, devnet, pprof: withDefaults(pprofOptions, { port: 6065 }) },
});

export type DevnetCliOptions = OptionsOfAll<typeof devnetOptionTable.groups>;
