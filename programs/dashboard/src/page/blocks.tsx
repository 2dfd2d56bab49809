import type { BlockItem, PoolState, ReorgItem } from "../messages.ts";
import { Chart, type Series } from "./chart.tsx";
import { bytes, count, counted, fee, gas } from "./format.ts";
import { Figure, Nothing, Panel, Table } from "./parts.tsx";
import { entriesOf, type ProgramView, stateOf } from "./store.ts";

const CHARTED = 120;
const LISTED = 10;
const GAS_AND_DA: readonly Series[] = [
  { label: "gas", colour: "--gas", as: "bars", scale: "gas", value: gas },
  { label: "data", colour: "--da", scale: "bytes", value: bytes },
];

/** The latest blocks: gas, and the data that they will take on L1. */
export function Blocks({ program, theme }: { readonly program: ProgramView; readonly theme: string }) {
  const blocks = entriesOf<BlockItem>(program, "block").slice(-CHARTED);
  const reorgs = entriesOf<ReorgItem>(program, "reorg");
  const latest = blocks.at(-1)?.[1];
  return (
    <Panel title="Blocks" note={reorgs.length === 0 ? undefined : `${counted(reorgs.length, "reorganisation")} since the start`}>
      {latest === undefined ? (
        <Nothing>No block after the genesis yet.</Nothing>
      ) : (
        <Chart
          summary={`Gas used and estimated data size of the last ${blocks.length} blocks. The latest used ${gas(latest.gasUsed)} gas.`}
          data={[
            blocks.map(([number]) => number),
            blocks.map(([, block]) => block.gasUsed),
            blocks.map(([, block]) => block.daBytes ?? null),
          ]}
          series={GAS_AND_DA}
          x="number"
          height={220}
          theme={theme}
        />
      )}
    </Panel>
  );
}

/** The latest blocks, one by one. */
export function LatestBlocks({ program }: { readonly program: ProgramView }) {
  const blocks = entriesOf<BlockItem>(program, "block").slice(-LISTED).reverse();
  if (blocks.length === 0) return null;
  return (
    <Panel title="Latest blocks">
      <Table
        label="Latest blocks"
        head={[
          { text: "Block" },
          { text: "Transactions", isNumber: true },
          { text: "Gas", isNumber: true },
          { text: "of limit", isNumber: true },
          { text: "Data", isNumber: true },
          { text: "Base fee", isNumber: true },
        ]}
        rows={blocks.map(([number, block]) => ({
          key: number,
          cells: [
            <span title={block.hash}>{count(number)}</span>,
            count(block.transactions - block.deposits),
            gas(block.gasUsed),
            `${((block.gasUsed / block.gasLimit) * 100).toFixed(1)} %`,
            bytes(block.daBytes),
            fee(block.baseFeeWei),
          ],
        }))}
      />
    </Panel>
  );
}

const POOL_SERIES: readonly Series[] = [
  { label: "pending", colour: "--unsafe", value: count },
  { label: "queued", colour: "--l1", value: count },
];

/** Transactions that wait. */
export function Pool({ program, theme }: { readonly program: ProgramView; readonly theme: string }) {
  const pool = stateOf<PoolState>(program, "pool");
  const samples = entriesOf<PoolState>(program, "pools");
  return (
    <Panel title="Pool">
      {pool === undefined ? (
        <Nothing>The pool is not known yet.</Nothing>
      ) : (
        <dl class="figures">
          <Figure label="Pending" value={count(pool.pending)} colour="--unsafe" />
          <Figure label="Queued" value={count(pool.queued)} colour="--l1" />
          <Figure label="Memory" value={bytes(pool.bytes)} />
        </dl>
      )}
      {samples.length > 1 && (
        <Chart
          summary="Transactions in the pool while this page is open."
          data={[
            samples.map(([atMs]) => atMs / 1000),
            samples.map(([, { pending }]) => pending),
            samples.map(([, { queued }]) => queued),
          ]}
          series={POOL_SERIES}
          x="time"
          height={150}
          theme={theme}
        />
      )}
    </Panel>
  );
}
