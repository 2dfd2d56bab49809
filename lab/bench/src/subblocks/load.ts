import { bytesToHex, type Hex } from "@rnode/primitives";
import { freePort } from "@rnode/program/testing";
import { makeSenders } from "../common/load-generator.ts";
import type { OpChain } from "../common/op-chain.ts";
import { type Rengine, startRengine } from "../common/rengine.ts";
import { Transfers } from "../common/transfers.ts";

const CHAIN_ID = 901;
/** Transfers that fill a block; the gas limit is theirs, and that of the L1 attributes. */
const TRANSFERS = 3_000;
export const GAS_LIMIT = BigInt(TRANSFERS) * 21_000n + 100_000n;

const senders = makeSenders(TRANSFERS);
const CHAIN: OpChain = {
  chainId: CHAIN_ID,
  gasLimit: GAS_LIMIT,
  timestampSec: 1_700_000_000,
  rich: senders.map(({ address }) => bytesToHex(address)),
};

/** As many transactions as `blocks` blocks hold, for each of them. @param share of a full block */
export function feedOf(source: Transfers, blocks: number, share = 1): Hex[][] {
  return Array.from({ length: blocks }, () => source.next(Math.round(TRANSFERS * share)).map(bytesToHex));
}

export const newTransfers = (): Transfers => new Transfers(senders, CHAIN_ID);

/** A rengine that publishes, or follows a stream. @param args none: it does neither */
export async function startNode(args: readonly string[]): Promise<Rengine & { readonly streamUrl: string }> {
  const port = await freePort();
  const stream = args.length === 0 ? [] : [...args, `--subblocks.port=${port}`];
  const program = await startRengine({ chain: CHAIN, args: ["--rpc.workers=1", ...stream] });
  return { ...program, streamUrl: `ws://127.0.0.1:${port}` };
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!;
}

/** The first row is the header. */
export function tableOf(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const line = (cells: readonly string[]): string => `| ${widths.map((width, at) => cells[at]!.padEnd(width)).join(" | ")} |`;
  return [line(rows[0]!), line(widths.map((width) => "-".repeat(width))), ...rows.slice(1).map(line)].join("\n");
}
