import { type L1Client, L1Error, type VerifiedHeader } from "@rnode/l1";
import type { Logger } from "@rnode/observe";
import { bytesToHex, type Clock, equalBytes, hexToBytes, isCodedError, isZeroBytes } from "@rnode/primitives";
import type { RollupConfig, SignalledVersions } from "@rnode/protocol";
import { StartError } from "../common/start-error.ts";
import { within } from "../common/within.ts";

/** The groups that have them. */
export interface RuntimeConfigOptions {
  /** 0: read at the start only */
  readonly l1: { readonly runtimeConfigReloadIntervalMs: number };
  /** distance kept from the L1 head */
  readonly verifier: { readonly l1Confs: number };
}

export interface RuntimeConfigDeps {
  readonly config: Pick<RollupConfig, "l1SystemConfigAddress" | "protocolVersionsAddress">;
  readonly l1: Pick<L1Client, "blockByLabel" | "blockByNumber" | "storageAt">;
  readonly clock: Clock;
  readonly log: Logger;
  /**
   * Called with the first value, and with each changed one; undefined: not needed.
   *
   * @param signer 20 bytes, all zero if L1 names none
   */
  readonly onSigner?: ((signer: Uint8Array) => void) | undefined;
  /** Called after each read; undefined: not needed. An error from it ends the node. */
  readonly onVersions?: ((versions: SignalledVersions) => Promise<void>) | undefined;
}

/** Where SystemConfig keeps the address: keccak256 of `systemconfig.unsafeblocksigner`. */
const UNSAFE_BLOCK_SIGNER_SLOT = hexToBytes("0x65a7ed542fb37fe237fdfbdd70b31598523fe5b32879e307bae27a0bd9581c08");
/** Where ProtocolVersions keeps its values. */
const REQUIRED_VERSION_SLOT = hexToBytes("0x4aaefe95bd84fd3f32700cf3b7566bc944b73138e41958b5785826df2aecace0");
const RECOMMENDED_VERSION_SLOT = hexToBytes("0xe314dfc40f0025322aacc0ba8ef420b62fb3b702cf01e0cdf3d829117ac2ff1a");
const START_ATTEMPTS = 5;
const START_PAUSE_MS = 10_000;
const REQUEST_LIMIT_MS = 10_000;

/**
 * The values that a running node reads from contracts on L1: the key that signs the sequencer's blocks, and the required and
 * recommended protocol versions. Each read uses the state of one L1 block, given by `load`; values need a proof, unless the L1
 * endpoint is trusted.
 * Spec: docs/protocol/05-services.md#runtime-config-protocol-versions
 */
export class RuntimeConfig {
  private readonly options: RuntimeConfigOptions;
  private readonly deps: RuntimeConfigDeps;
  private readonly stop = new AbortController();
  private signer: Uint8Array | undefined;
  private reloading: Promise<void> | undefined;

  constructor(options: RuntimeConfigOptions, deps: RuntimeConfigDeps) {
    this.options = options;
    this.deps = deps;
  }

  /**
   * Returns once the values are known, then reads them again at intervals. Returns early when it is closed.
   *
   * @returns a promise that rejects when the node must stop
   * @throws {StartError} start/unreachable after five attempts; the errors of `onVersions`
   */
  async start(): Promise<{ readonly ended: Promise<void> }> {
    const { clock, log } = this.deps;
    for (let attempt = 1; ; attempt++) {
      const failure = await this.tryLoad();
      if (failure === undefined) break;
      if (attempt === START_ATTEMPTS) {
        throw new StartError(
          "start/unreachable",
          `${this.wanted} cannot be read from L1 (--l1): ${failure}. The L1 endpoint must offer eth_getProof; one of your own ` +
            "that does not can be used with --l1.trustrpc",
        );
      }
      log.warn("the runtime configuration cannot be read from L1, trying again", { attempt, reason: failure });
      await clock.sleep(START_PAUSE_MS, this.stop.signal);
    }
    if (this.options.l1.runtimeConfigReloadIntervalMs > 0 && !this.stop.signal.aborted) this.reloading = this.reload();
    const ended = this.reloading ?? new Promise<void>(() => {});
    ended.catch(() => {}); // reported where it is awaited
    return { ended };
  }

  async close(): Promise<void> {
    this.stop.abort();
    await this.reloading?.catch(() => {}); // reported by `ended`
  }

  private get wanted(): string {
    const { onSigner, onVersions } = this.deps;
    return [onSigner && "the unsafe block signer", onVersions && "the protocol versions"].filter((part) => part).join(" and ");
  }

  private async reload(): Promise<void> {
    const { clock, log } = this.deps;
    while (!this.stop.signal.aborted) {
      await clock.sleep(this.options.l1.runtimeConfigReloadIntervalMs, this.stop.signal);
      const failure = await this.tryLoad();
      if (failure !== undefined)
        log.warn("the runtime configuration cannot be read again, the former one holds", { reason: failure });
    }
  }

  /** @returns why it failed; undefined also when it was closed meanwhile */
  private async tryLoad(): Promise<string | undefined> {
    try {
      await this.load();
    } catch (error) {
      if (this.stop.signal.aborted) return undefined;
      if (!isCodedError(error)) throw error;
      return error.message;
    }
    return undefined;
  }

  /** All values of one block. */
  private async load(): Promise<void> {
    const block = await this.blockToRead();
    const { config, l1, onSigner, onVersions } = this.deps;
    const word = (contract: Uint8Array, slot: Uint8Array) => this.ask("storage", () => l1.storageAt(contract, slot, block));
    if (onSigner !== undefined) {
      const { value, isProven } = await word(config.l1SystemConfigAddress, UNSAFE_BLOCK_SIGNER_SLOT);
      this.takeSigner(value.slice(12), block, isProven, onSigner);
    }
    if (onVersions !== undefined) {
      const { value: required } = await word(config.protocolVersionsAddress, REQUIRED_VERSION_SLOT);
      const { value: recommended } = await word(config.protocolVersionsAddress, RECOMMENDED_VERSION_SLOT);
      await onVersions({ required, recommended });
    }
  }

  private async blockToRead(): Promise<VerifiedHeader> {
    const { l1 } = this.deps;
    const head = await this.ask("head", () => l1.blockByLabel("latest"));
    const { l1Confs } = this.options.verifier;
    const isHeadRead = l1Confs === 0 || (head !== undefined && head.number < l1Confs);
    const block = head === undefined || isHeadRead ? head : await this.ask("block", () => l1.blockByNumber(head.number - l1Confs));
    if (block === undefined)
      throw new L1Error("l1/unavailable", { what: "runtime configuration", reason: "L1 has no block to read it from" });
    return block;
  }

  private takeSigner(signer: Uint8Array, block: VerifiedHeader, isProven: boolean, onSigner: (signer: Uint8Array) => void): void {
    const { log } = this.deps;
    const fields = {
      signer: bytesToHex(signer),
      l1Block: block.number,
      checkedBy: isProven ? "eth_getProof" : "nothing (--l1.trustrpc)",
    };
    const former = this.signer;
    this.signer = signer;
    if (former !== undefined && equalBytes(former, signer)) {
      log.debug("the unsafe block signer is the same", fields);
      return;
    }
    if (isZeroBytes(signer)) log.warn("L1 names no unsafe block signer: blocks from peers are ignored", fields);
    else log.info(former === undefined ? "unsafe block signer" : "the unsafe block signer has changed", fields);
    onSigner(signer);
  }

  private async ask<T>(what: string, action: () => Promise<T>): Promise<T> {
    const answer = await within({ clock: this.deps.clock, limitMs: REQUEST_LIMIT_MS, stop: this.stop.signal }, action);
    if (answer.kind === "done") return answer.value;
    if (answer.kind === "failed") throw answer.error;
    throw new L1Error("l1/unavailable", {
      what,
      reason: answer.kind === "late" ? `no answer in ${REQUEST_LIMIT_MS} ms` : "closed",
    });
  }
}
