import type { NodeHeads } from "../status.ts";
import { rows } from "../summary.ts";
import type { DevnetSet } from "./devnet-set.ts";
import { CROSS_L2_INBOX, L2_TO_L2_MESSENGER, SUPERCHAIN_ETH_BRIDGE } from "./sent-message.ts";

/** The addresses and accounts that a user of the set needs. */
export function summaryOfSet({ chains, url, dashboard }: DevnetSet, datadir: string, tookMs: number): string {
  const [first] = chains;
  const { l1ChainId, endpoints, accounts, roles } = first!.info;
  const free = accounts.slice(Object.keys(roles).length);
  return [
    "",
    `${chains.every(({ isNew }) => isNew) ? `A new set of ${chains.length} chains is` : `The set of ${chains.length} chains goes on and is`} up after ${(tookMs / 1000).toFixed(1)} s.`,
    "",
    "Endpoints",
    rows([
      [`L1 (chain ${l1ChainId})`, [endpoints.l1, endpoints.l1Ws ?? ""].join("  ").trimEnd()],
      ...chains.flatMap(({ info: { l2ChainId, endpoints: own } }) => [
        [`chain ${l2ChainId}`, `${own.sequencer.http}  ${own.sequencer.ws}`] as const,
        ["  its verifier", `${own.verifier.http}  ${own.verifier.ws}`] as const,
        ["  rnode of the sequencer, of rnode set", `${own.sequencer.node}  ${own.verifier.node}`] as const,
        ["  rbatcher, rproposer", `${own.batcher}  ${own.proposer}`] as const,
      ]),
      ["rnode set, interop filter", url],
      ...(dashboard === undefined ? [] : [["Dashboard, for a browser", dashboard] as const]),
    ]),
    "",
    "Accounts, funded on all chains (keys are public: never use them elsewhere)",
    rows(free.map(({ address, privateKey }) => [address, privateKey])),
    "",
    "Contracts of messages, on each chain; a relayer executes what L2ToL2CrossDomainMessenger sends",
    rows([
      ["L2ToL2CrossDomainMessenger", L2_TO_L2_MESSENGER],
      ["SuperchainETHBridge", SUPERCHAIN_ETH_BRIDGE],
      ["CrossL2Inbox", CROSS_L2_INBOX],
    ]),
    "",
    `Logs and devnet.json (with all other addresses) are in ${datadir}, of further chains in ${chains
      .slice(1)
      .map(({ info }) => `chains/${info.l2ChainId}`)
      .join(", ")}`,
    "Ctrl-C stops everything.",
    "",
  ].join("\n");
}

/** One line: the heads of each chain's sequencer, and messages. */
export async function statusOfSet({ chains, relayer }: DevnetSet): Promise<string> {
  const statuses = await Promise.all(chains.map(async (chain) => ({ id: chain.info.l2ChainId, ...(await chain.status()) })));
  const heads = (node: NodeHeads | undefined): string =>
    node ? `unsafe ${node.unsafe} safe ${node.safe} finalized ${node.finalized}` : "no answer";
  return [
    `L1 ${statuses[0]?.l1Head ?? "no answer"}`,
    ...statuses.map(({ id, sequencer }) => `${id} ${heads(sequencer)}`),
    `messages ${relayer.relayed} relayed, ${relayer.waiting} waiting`,
  ].join(" | ");
}
