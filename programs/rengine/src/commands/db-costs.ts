import { type GrowthUnit, type StorageStats, TABLES, type TableName } from "@rnode/storage";

/** Bytes of a table for each of what its rows grow with; a unit that says nothing about the table is missing. */
export type TableCost = Readonly<Partial<Record<GrowthUnit, number>>>;

/**
 * The cost of the rows of each table: bytes of its pages, for each block whose rows it has, each transaction of those blocks,
 * each account or each slot of the head's state. In a pruned chain, the table of bodies has more transactions than are counted,
 * so it has no cost per transaction.
 */
export function tableCosts({ head, firstBlock, prunedRowsUpTo, tables }: StorageStats): Readonly<Record<string, TableCost>> {
  const entriesOf = (table: string): number => tables[table]?.entries ?? 0;
  const isPruned = head !== undefined && prunedRowsUpTo > (firstBlock ?? 0);
  const costs: Record<string, TableCost> = {};
  for (const [table, { sizeBytes }] of Object.entries(tables)) {
    const { growsWith, history } = TABLES[table as TableName];
    const isShortened = isPruned && history !== undefined;
    const countOf = (unit: GrowthUnit): number => {
      if (unit === "account") return entriesOf("accounts");
      if (unit === "slot") return entriesOf("storage");
      if (unit === "block") return isShortened ? head.number - prunedRowsUpTo : entriesOf("headers");
      return isPruned && !isShortened ? 0 : entriesOf("transactions");
    };
    const counted = growsWith.map((unit) => [unit, countOf(unit)] as const).filter(([, count]) => count > 0);
    if (counted.length > 0) costs[table] = Object.fromEntries(counted.map(([unit, count]) => [unit, sizeBytes / count]));
  }
  return costs;
}
