import type { Lack } from "./beacon-endpoint.ts";

export interface EndpointLack extends Lack {
  readonly endpoint: string;
}

const CUSTODY = /column|custod|supernode|subscribe-all/i;
const DAY_SEC = 86_400;

/** The operator's remedy for missing blobs. */
export function adviceOn(lacks: readonly EndpointLack[], ageSec: number, retentionSec: number): string {
  const archiver = "add a blob archiver to --l1.beacon-fallbacks";
  const days = (sec: number): string => `${Math.floor(sec / DAY_SEC)} days`;
  if (ageSec > retentionSec) {
    return `the block is ${days(ageSec)} old, and beacon nodes keep blobs for ${days(retentionSec)}: ${archiver}`;
  }
  if (lacks.some(({ reason }) => CUSTODY.test(reason))) {
    return `a beacon node keeps only a part of each blob unless it is told to keep all (Lighthouse --supernode, Prysm --subscribe-all-data-subnets): restart it so, or ${archiver}`;
  }
  if (lacks.some(({ kind }) => kind === "missing")) {
    return `the node may not have had the block in time, or L1 may have replaced it: if this stays, ${archiver}`;
  }
  return "no endpoint gave a usable answer: check --l1.beacon and --l1.beacon-fallbacks; it is tried again";
}
