import type { StorageStats } from "@rnode/storage";

/** What the rows of a table are counted by. */
export const COST_UNITS = ["block", "transaction", "account", "slot"] as const;
type CostUnit = (typeof COST_UNITS)[number];

/** Bytes of a table for each of what its rows grow with; a unit that says nothing about the table is missing. */
export type TableCost = Readonly<Partial<Record<CostUnit, number>>>;

const BODIES: readonly CostUnit[] = ["block", "transaction"];

/** Tables that are not listed do not grow with any of the units. */
const UNITS: Readonly<Record<string, readonly CostUnit[]>> = {
  headers: ["block"],
  canonical: ["block"],
  numbers: ["block"],
  totalDifficulty: ["block"],
  bodies: BODIES,
  receipts: BODIES,
  senders: BODIES,
  transactions: BODIES,
  logs: BODIES,
  changes: BODIES,
  accountBlocks: BODIES,
  slotBlocks: BODIES,
  nodeHistory: BODIES,
  nodeEpochs: BODIES,
  accounts: ["account"],
  storage: ["slot"],
};

/** Tables of which pruning leaves nothing below the oldest block with history. Bodies and headers stay. */
const PRUNED = new Set([
  ...["receipts", "senders", "transactions", "logs", "changes", "accountBlocks", "slotBlocks"],
  ...["nodeHistory", "nodeEpochs"],
]);

/**
 * What the rows of each table cost: bytes of its pages, for each block whose rows it has, each transaction of those blocks, each account or
 * each slot of the head's state. Bodies of a pruned chain have more transactions than are counted, and no cost for one.
 */
export function tableCosts({ head, firstBlock, prunedRowsUpTo, tables }: StorageStats): Readonly<Record<string, TableCost>> {
  const entriesOf = (table: string): number => tables[table]?.entries ?? 0;
  const isPruned = head !== undefined && prunedRowsUpTo > (firstBlock ?? 0);
  const countOf = (unit: CostUnit, table: string): number => {
    const hasLess = isPruned && PRUNED.has(table);
    if (unit === "account") return entriesOf("accounts");
    if (unit === "slot") return entriesOf("storage");
    if (unit === "block") return hasLess ? head.number - prunedRowsUpTo : entriesOf("headers");
    return isPruned && !hasLess ? 0 : entriesOf("transactions");
  };
  const costs: Record<string, TableCost> = {};
  for (const [table, { sizeBytes }] of Object.entries(tables)) {
    const counted = (UNITS[table] ?? []).map((unit) => [unit, countOf(unit, table)] as const).filter(([, count]) => count > 0);
    if (counted.length > 0) costs[table] = Object.fromEntries(counted.map(([unit, count]) => [unit, sizeBytes / count]));
  }
  return costs;
}
