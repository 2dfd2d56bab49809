import type { LogFields } from "@rnode/observe";
import type { SyncFacts } from "../rpc/sync-status.ts";
import type { Contact } from "./contact.ts";
import type { HeadStall } from "./head-stall.ts";

export interface NodeStatusDeps {
  readonly facts: SyncFacts;
  /** what an execution-layer sync is doing; `undefined`: none is under way */
  readonly engineSync: string | undefined;
  /** why the heads are being searched; `undefined` in normal operation */
  readonly resetUnderWay: string | undefined;
  /** of what decides which blocks are safe */
  readonly verification?: LogFields | undefined;
  readonly l1Stall: Pick<HeadStall, "stall">;
  readonly contacts: { readonly l1: Contact; readonly engine: Contact } | undefined;
}

/** The status line: how far the node has come and, if it makes no progress, what it is waiting for. */
export function nodeStatus({ facts, engineSync, resetUnderWay, verification, l1Stall, contacts }: NodeStatusDeps): LogFields {
  const { heads, l1, currentL1 } = facts;
  return {
    l1Head: l1.head?.number,
    derivedTo: currentL1?.number,
    unsafe: heads?.unsafe.number,
    safe: heads?.safe.number,
    finalized: heads?.finalized.number,
    ...(engineSync === undefined ? {} : { engineSync }),
    ...(engineSync !== undefined || resetUnderWay === undefined ? {} : { findingHeadsBecause: resetUnderWay }),
    ...(l1.head === undefined ? { waitingFor: "the L1 head" } : {}),
    ...(contacts?.l1.silence === undefined ? l1Stall.stall : {}),
    ...verification,
    ...silenceOf("l1", contacts?.l1),
    ...silenceOf("engine", contacts?.engine),
  };
}

/** What the status line says of something that does not answer. */
function silenceOf(name: "l1" | "engine", contact: Contact | undefined): LogFields {
  const silence = contact?.silence;
  if (silence === undefined) return {};
  return { [`${name}SilentSince`]: silence.since, [`${name}SilentSec`]: silence.forSec, [`${name}Failure`]: silence.reason };
}
