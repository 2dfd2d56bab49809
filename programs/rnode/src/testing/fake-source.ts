import { RpcError } from "@rnode/jsonrpc";
import type { SyncStatus } from "@rnode/node-clients";
import type { L1BlockRef, L2BlockRef, RollupConfig } from "@rnode/protocol";
import type { FollowSource } from "../follow/follow-source.ts";
import type { FakeEngine, FakeL1 } from "./fake-chain.ts";

const ZERO = `0x${"00".repeat(32)}` as const;
export const UNKNOWN_L1: L1BlockRef = { hash: ZERO, number: 0, parentHash: ZERO, timestamp: 0 };
export const UNKNOWN_L2: L2BlockRef = { ...UNKNOWN_L1, l1Origin: { hash: ZERO, number: 0 }, sequenceNumber: 0 };

/** A source as a test wants it: what it says, or an error, or an answer that is late. */
export class FakeSource implements FollowSource {
  readonly name = "http://source";
  status: SyncStatus | Error;
  config: RollupConfig | Error;
  /** while set, no answer comes before it has resolved */
  delay: Promise<void> | undefined;
  asked = 0;
  underWay = 0;
  mostAtOnce = 0;

  constructor(config: RollupConfig) {
    this.config = config;
    this.status = new RpcError(-32000, "it has said nothing yet");
  }

  /** Its heads. @param safe and `finalized`: default: `localSafe` and the genesis */
  says(
    localSafe: L2BlockRef,
    { safe = localSafe, finalized, currentL1 }: { safe?: L2BlockRef; finalized?: L2BlockRef; currentL1?: L1BlockRef } = {},
    { engine, l1 }: { readonly engine: FakeEngine; readonly l1: FakeL1 },
  ): void {
    const genesis = engine.block(engine.config.genesis.l2.hash).ref;
    const headL1 = l1.head;
    this.status = {
      headL1,
      currentL1: currentL1 ?? headL1,
      unsafeL2: localSafe,
      localSafeL2: localSafe,
      safeL2: safe,
      finalizedL2: finalized ?? genesis,
    };
  }

  async syncStatus(): Promise<SyncStatus> {
    this.asked++;
    this.underWay++;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.underWay);
    await this.delay;
    this.underWay--;
    if (this.status instanceof Error) throw this.status;
    return this.status;
  }

  async rollupConfig(): Promise<RollupConfig> {
    if (this.config instanceof Error) throw this.config;
    return this.config;
  }
}
