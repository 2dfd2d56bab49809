import { createRandomFraction } from "@rnode/primitives/testing";
import { simTransactions } from "./sim-rollup.ts";
import { type LogLine, Simulation } from "./simulation.ts";

export interface HostileRunOptions {
  readonly seed: number;
  readonly hours: number;
  readonly dataAvailabilityType: "calldata" | "blobs" | "auto";
  /** false: the same L1 prices and the same L2 blocks, and nothing ever goes wrong */
  readonly isHostile: boolean;
  readonly onProgress?: ((hours: number) => void) | undefined;
}

export interface HostileRunResult {
  readonly l1Blocks: number;
  /** of them, those with Amsterdam's rules */
  readonly l1BlocksSinceAmsterdam: number;
  readonly l2Blocks: number;
  readonly safeBlocks: number;
  /** blocks in batches that were safe already, and in batches that derivation drops */
  readonly repeated: number;
  readonly unfit: number;
  readonly timedOut: number;
  readonly transactions: number;
  /** paid to L1, in blocks that are canonical at the end */
  readonly spentWei: bigint;
  /** the same, without fees above the base fee and the minimum tip at inclusion */
  readonly spentAtBaseFeeWei: bigint;
  readonly faults: Readonly<Record<string, number>>;
  readonly errors: readonly LogLine[];
}

const SLOT_MS = 12_000;
const SLOTS_PER_HOUR = 300;
const GWEI = 10n ** 9n;
/** The sequencer stays further behind than L1 is ever reorganised. */
const L1_CONFS = 6;
const MAX_REORG_DEPTH = 4;
const KEPT_BLOBS = 400;

/** Since Amsterdam, of the slots: those that are empty, and those whose block replaces the one before (EIP-7732). */
const EMPTY_SLOTS = 0.05;
const REPLACED_HEADS = 0.05;

/**
 * Months of a submitter's life on an L1 that drops, delays and reorganises its transactions, is away, raises prices and kills it. Within
 * the run, L1 crosses Amsterdam. All follows from the seed; prices, the fork and L2 blocks also without the faults, so that two runs can
 * be compared.
 */
export async function hostileRun(options: HostileRunOptions): Promise<HostileRunResult> {
  const simulation = new Simulation({
    hasL1Rpc: true,
    maxPendingTransactions: 2,
    confirmations: 10,
    pollIntervalMs: SLOT_MS,
    receiptQueryIntervalMs: SLOT_MS,
    channels: {
      dataAvailabilityType: options.dataAvailabilityType,
      maxL1TxSizeBytes: 120_000,
      maxChannelDuration: 25,
      targetNumFrames: options.dataAvailabilityType === "calldata" ? 1 : 2,
    },
  });
  return new HostileWorld(simulation, options).run();
}

class HostileWorld {
  readonly #simulation: Simulation;
  readonly #options: HostileRunOptions;
  readonly #prices: Prices;
  readonly #chance: () => number;
  readonly #faults: Record<string, number> = {};
  readonly #transactions = Array.from({ length: 512 }, (_, i) => simTransactions(i, 1, 200));
  /** by the slot, so that both runs pay the same prices for data */
  readonly #forkSlot: number;
  /** slots in which each lasting fault is over */
  #l1AwayUntil = 0;
  #l1StandsUntil = 0;
  #nodeAwayUntil = 0;
  #deadUntil = 0;
  #passedOverUntil = 0;

  constructor(simulation: Simulation, options: HostileRunOptions) {
    this.#simulation = simulation;
    this.#options = options;
    this.#prices = new Prices(options.seed);
    this.#chance = createRandomFraction(options.seed + 1);
    this.#forkSlot = Math.floor(options.hours * SLOTS_PER_HOUR * (0.2 + 0.4 * createRandomFraction(options.seed + 2)()));
    simulation.rollup.l1Confs = L1_CONFS;
    simulation.rollup.transactionsOf = (number) => this.#transactions[number % this.#transactions.length]!;
  }

  async run(): Promise<HostileRunResult> {
    const { l1, rollup, clock } = this.#simulation;
    this.#simulation.start();
    const slots = this.#options.hours * SLOTS_PER_HOUR;
    for (let slot = 0; slot < slots; slot++) {
      this.#prices.step(l1);
      l1.amsterdamAt ??= slot >= this.#forkSlot ? l1.headNumber + 1 : undefined;
      rollup.produce();
      if (!this.#options.isHostile || !this.#disturb(slot)) l1.mine();
      await clock.advance(SLOT_MS);
      this.#forgetBlobs();
      if (slot % (10 * SLOTS_PER_HOUR) === 0) this.#options.onProgress?.(slot / SLOTS_PER_HOUR);
    }
    await this.#settle();
    return this.#result();
  }

  /** Ends all faults and publishes the remaining blocks. */
  async #settle(): Promise<void> {
    const { l1, rollup, clock } = this.#simulation;
    Object.assign(l1, { isDown: false, includes: true, losesAnswers: false });
    rollup.isDown = false;
    if (this.#deadUntil > 0) this.#simulation.start();
    for (let slot = 0; slot < 400 && this.#simulation.derived.safe.number < rollup.unsafeHead.number; slot++) {
      this.#prices.step(l1);
      l1.mine();
      await clock.advance(SLOT_MS);
    }
  }

  /** @returns whether there is no block in this slot */
  #disturb(slot: number): boolean {
    const { l1, rollup } = this.#simulation;
    const begins = (what: string, perHour: number): boolean => {
      if (this.#chance() >= perHour / SLOTS_PER_HOUR) return false;
      this.#faults[what] = (this.#faults[what] ?? 0) + 1;
      return true;
    };
    /** mostly minutes, at times hours */
    const duration = (): number => Math.ceil(5 + 600 * this.#chance() ** 4);
    if (begins("L1 endpoint away", 1 / 20)) this.#l1AwayUntil = slot + duration();
    if (begins("L1 stands still", 1 / 40)) this.#l1StandsUntil = slot + duration();
    if (begins("rollup node away", 1 / 20)) this.#nodeAwayUntil = slot + duration();
    if (begins("kill -9", 1 / 10)) {
      this.#simulation.kill();
      this.#deadUntil = slot + 1 + Math.floor(20 * this.#chance());
    }
    if (this.#deadUntil > 0 && slot >= this.#deadUntil) {
      this.#deadUntil = 0;
      this.#simulation.start();
    }
    l1.isDown = slot < this.#l1AwayUntil;
    rollup.isDown = slot < this.#nodeAwayUntil;
    if (l1.pool.size > 0 && begins("dropped from the pool", 10)) l1.pool.clear();
    if (begins("reorganised", 1)) l1.reorg(1 + Math.floor(MAX_REORG_DEPTH * this.#chance()), this.#chance() < 0.5);
    l1.losesAnswers = begins("answer lost", 6);
    if (begins("passed over", 8)) this.#passedOverUntil = slot + 1 + Math.floor(9 * this.#chance());
    l1.includes = slot >= this.#passedOverUntil;
    if (l1.amsterdamAt !== undefined && l1.headNumber >= l1.amsterdamAt) {
      if (this.#chance() < EMPTY_SLOTS) return true;
      if (this.#chance() < REPLACED_HEADS) {
        l1.replaceHead();
        this.#faults["head replaced"] = (this.#faults["head replaced"] ?? 0) + 1;
      }
    }
    return slot < this.#l1StandsUntil || begins("slot missed", 5);
  }

  /** Blobs that have been derived are not needed any more. */
  #forgetBlobs(): void {
    const { blobs } = this.#simulation.l1;
    if (blobs.size <= 2 * KEPT_BLOBS) return;
    for (const hash of [...blobs.keys()].slice(0, blobs.size - KEPT_BLOBS)) blobs.delete(hash);
  }

  #result(): HostileRunResult {
    const { derived, errors, l1, rollup, spentWei, spentAtBaseFeeWei } = this.#simulation;
    return {
      l1Blocks: l1.headNumber,
      l1BlocksSinceAmsterdam: l1.headNumber + 1 - (l1.amsterdamAt ?? Number.POSITIVE_INFINITY),
      l2Blocks: rollup.unsafeHead.number,
      safeBlocks: derived.safe.number,
      repeated: derived.repeated,
      unfit: derived.unfit,
      timedOut: derived.timedOut,
      transactions: l1.transactions.length,
      spentWei,
      spentAtBaseFeeWei,
      faults: this.#faults,
      errors,
    };
  }
}

/** Base fees that wander, with spikes of minutes to an hour. */
class Prices {
  readonly #random: () => number;
  #base = 10;
  #blob = 1;
  #spike = 0;
  #blobSpike = 0;

  constructor(seed: number) {
    this.#random = createRandomFraction(seed);
  }

  /** One slot; the number of random numbers is always the same. */
  step(l1: { baseFee: bigint; blobBaseFee: bigint }): void {
    const [walk, blobWalk, begins, blobBegins, length] = Array.from({ length: 5 }, () => this.#random()) as [
      number,
      number,
      number,
      number,
      number,
    ];
    this.#base = Math.min(40, Math.max(2, this.#base * (1 + (walk - 0.5) * 0.1)));
    this.#blob = Math.min(20, Math.max(0.01, this.#blob * (1 + (blobWalk - 0.5) * 0.1)));
    if (begins < 1 / (8 * SLOTS_PER_HOUR)) this.#spike = Math.ceil(20 + 280 * length);
    if (blobBegins < 1 / (8 * SLOTS_PER_HOUR)) this.#blobSpike = Math.ceil(20 + 280 * length);
    l1.baseFee = gwei(this.#base * (this.#spike-- > 0 ? 8 : 1));
    l1.blobBaseFee = gwei(this.#blob * (this.#blobSpike-- > 0 ? 30 : 1));
  }
}

const gwei = (amount: number): bigint => (BigInt(Math.round(amount * 1e6)) * GWEI) / 1_000_000n;
