import { falseContent } from "../errors.ts";
import { decodeBlockRecords } from "../format/block-records.ts";
import type { FrameKind } from "../format/frames.ts";
import { parseManifest } from "../format/manifest.ts";
import { BlockChecks } from "./check-blocks.ts";
import { checkManifest, type SnapshotExpectation } from "./load-snapshot.ts";

/** Checks of a snapshot's frames in the order of their arrival, before the whole file has arrived. */
export class ArrivalChecks {
  readonly #expected: SnapshotExpectation;
  #blocks: BlockChecks | undefined;
  #areBlocksWhole = false;

  constructor(expected: SnapshotExpectation) {
    this.#expected = expected;
  }

  /** @param content decompresses the payload. @throws {CodedError} snapshot/other-chain, snapshot/other-block, snapshot/false-content */
  take(kind: FrameKind, content: () => Uint8Array): void {
    if (kind === "manifest") {
      if (this.#blocks !== undefined) throw falseContent("it has two manifests");
      const manifest = parseManifest(content());
      checkManifest(manifest, this.#expected);
      this.#blocks = new BlockChecks(this.#expected.config, manifest);
      return;
    }
    if (this.#blocks === undefined) throw falseContent("its manifest does not come first");
    if (kind === "blocks") {
      if (this.#areBlocksWhole) throw falseContent("blocks come after the state");
      for (const record of decodeBlockRecords(content())) this.#blocks.check(record);
      return;
    }
    if (this.#areBlocksWhole) return;
    this.#blocks.finish();
    this.#areBlocksWhole = true;
  }
}
