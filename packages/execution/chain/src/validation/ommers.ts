import { bytesToHex, type Hex } from "@rnode/primitives";
import { type Block, type ChainConfig, type Header, hashHeader } from "@rnode/protocol";
import type { BlockFault } from "../api.ts";
import { blockFault } from "../faults.ts";
import { checkHeader } from "./header-validation.ts";
import { rulesOfBlock } from "./rules.ts";

const MAX_OMMERS = 2;
/** An ommer's parent must be one of this many ancestors. */
const MAX_OMMER_DEPTH = 7;

/** Finds an ancestor by its hash; undefined: before the genesis */
export type AncestorSource = (hash: Uint8Array) => Pick<Block, "header" | "ommers"> | undefined;

/**
 * Checks the ommers of a proof-of-work block: at most two valid headers that branched off within seven blocks, each included once, and
 * none of them an ancestor. Spec: yellow paper §11.1
 */
export function checkOmmers(config: ChainConfig, block: Block, ancestorOf: AncestorSource): BlockFault | undefined {
  const { header, ommers } = block;
  if (ommers.length === 0) return undefined;
  if (ommers.length > MAX_OMMERS) return blockFault("ommer-invalid", { reason: "too-many", count: ommers.length });
  const ancestors = new Map<Hex, Header>();
  const used = new Set<Hex>();
  let hash = header.parentHash;
  for (let depth = 0; depth < MAX_OMMER_DEPTH; depth++) {
    const ancestor = ancestorOf(hash);
    if (ancestor === undefined) break;
    ancestors.set(bytesToHex(hash), ancestor.header);
    for (const ommer of ancestor.ommers) used.add(bytesToHex(hashHeader(ommer)));
    hash = ancestor.header.parentHash;
  }
  for (const [index, ommer] of ommers.entries()) {
    const ommerHex = bytesToHex(hashHeader(ommer));
    const invalid = (reason: string): BlockFault => blockFault("ommer-invalid", { index, ommer: ommerHex, reason });
    if (used.has(ommerHex)) return invalid("duplicate");
    used.add(ommerHex);
    if (ancestors.has(ommerHex)) return invalid("is-ancestor");
    const parentHex = bytesToHex(ommer.parentHash);
    const parent = ancestors.get(parentHex);
    if (parent === undefined) return invalid("parent-not-an-ancestor-within-reach");
    if (parentHex === bytesToHex(header.parentHash)) return invalid("is-sibling");
    const rules = rulesOfBlock(config, ommer);
    if (rules.isPostMerge) return invalid("proof-of-stake");
    const fault = checkHeader(config, rules, parent, ommer);
    if (fault !== undefined) return invalid(fault.rule);
  }
  return undefined;
}
