import { errorText } from "@rnode/observe";
import { systemClock } from "@rnode/program";
import { type Abi, type Account, createPublicClient, createWalletClient, type Hex, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import type { DevnetInfo } from "../files.ts";
import { l1ViemChain } from "../viem-chains.ts";
import { contract, loadContracts } from "./contracts.ts";

const INTERVAL_MS = 2_000;
/** How far to look back at the start for games that an earlier run has left. */
const MAX_GAMES_AT_START = 50;
const DEFENDER_WINS = 2;

interface OpenGame {
  readonly address: Hex;
  /** resolved, and its bond is not paid back yet */
  isResolved: boolean;
}

/**
 * Resolves the dispute games of the devnet, which every account may do. An undisputed game can be resolved when its clock has run
 * out; then withdrawals can be finalized with it. Afterwards the proposer gets its bond back. The transactions come from the
 * challenger's account, which sends no others.
 */
export class GameResolver {
  readonly #reader;
  readonly #wallet;
  readonly #account: Account;
  readonly #factory: { readonly address: Hex; readonly abi: Abi };
  readonly #gameAbi: Abi;
  readonly #proposer: Hex;
  readonly #log: (line: string) => void;
  readonly #stop = new AbortController();
  readonly #open: OpenGame[] = [];
  #nextIndex: number | undefined;
  #isFailing = false;
  readonly #done: Promise<void>;

  /** @throws the chain has no dispute games */
  constructor(info: DevnetInfo, log: (line: string) => void) {
    const { DisputeGameFactory: factory } = info.contracts.l1;
    if (factory === undefined) throw new Error("this chain has no dispute games");
    const bundle = loadContracts();
    const chain = l1ViemChain(info);
    this.#account = privateKeyToAccount(info.accounts[info.roles.challenger]!.privateKey);
    this.#reader = createPublicClient({ chain, transport: http(), pollingInterval: 500 });
    this.#wallet = createWalletClient({ account: this.#account, chain, transport: http() });
    this.#factory = { address: factory, abi: contract(bundle, "DisputeGameFactory").abi };
    this.#gameAbi = contract(bundle, "PermissionedDisputeGame").abi;
    this.#proposer = info.accounts[info.roles.proposer]!.address;
    this.#log = log;
    this.#done = this.#run();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#done;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        await this.#look();
        this.#isFailing = false;
      } catch (error) {
        // L1 may be away for a while, which others report as well
        if (!this.#isFailing && !signal.aborted) this.#log(`dispute games cannot be resolved now: ${reasonOf(error)}`);
        this.#isFailing = true;
      }
      await systemClock.sleep(INTERVAL_MS, signal);
    }
  }

  async #look(): Promise<void> {
    const count = Number(await this.#reader.readContract({ ...this.#factory, functionName: "gameCount" }));
    this.#nextIndex ??= Math.max(0, count - MAX_GAMES_AT_START);
    if (count < this.#nextIndex) this.#nextIndex = count; // L1 has forgotten some
    for (; this.#nextIndex < count; this.#nextIndex++) {
      const args = [BigInt(this.#nextIndex)];
      const [, , address] = (await this.#reader.readContract({ ...this.#factory, functionName: "gameAtIndex", args })) as [
        number,
        bigint,
        Hex,
      ];
      this.#open.push({ address, isResolved: false });
    }
    for (const game of [...this.#open]) {
      if (this.#stop.signal.aborted) return;
      if (await this.#isOver(game)) this.#open.splice(this.#open.indexOf(game), 1);
    }
  }

  /** Does what can be done now. @returns whether nothing is left to do */
  async #isOver(game: OpenGame): Promise<boolean> {
    if (!game.isResolved && Number(await this.#read(game, "status")) === 0) {
      // refused while the clock runs, and when it was done before
      const isOpen = await this.#canSend(game, "resolveClaim", [0n, 0n]);
      if (isOpen) await this.#send(game, "resolveClaim", [0n, 0n]);
      if (!(await this.#canSend(game, "resolve", []))) return false;
      await this.#send(game, "resolve", []);
      const [block, status] = [await this.#read(game, "l2BlockNumber"), Number(await this.#read(game, "status"))];
      this.#log(`dispute game of L2 block ${String(block)} resolved${status === DEFENDER_WINS ? "" : ": the challenger has won"}`);
    }
    game.isResolved = true;
    if ((await this.#read(game, "credit", [this.#proposer])) === 0n) return true;
    if (!(await this.#canSend(game, "claimCredit", [this.#proposer]))) return false; // its delay is not over
    await this.#send(game, "claimCredit", [this.#proposer]);
    return true;
  }

  #call(game: OpenGame, functionName: string, args: readonly unknown[]) {
    return { address: game.address, abi: this.#gameAbi, functionName, args, account: this.#account } as const;
  }

  #read(game: OpenGame, functionName: string, args: readonly unknown[] = []): Promise<unknown> {
    return this.#reader.readContract(this.#call(game, functionName, args));
  }

  async #canSend(game: OpenGame, functionName: string, args: readonly unknown[]): Promise<boolean> {
    try {
      await this.#reader.simulateContract(this.#call(game, functionName, args));
      return true;
    } catch {
      return false;
    }
  }

  async #send(game: OpenGame, functionName: string, args: readonly unknown[]): Promise<void> {
    const hash = await this.#wallet.writeContract(this.#call(game, functionName, args));
    await this.#reader.waitForTransactionReceipt({ hash, timeout: 60_000 });
  }
}

const reasonOf = (error: unknown): string => (error as { shortMessage?: string }).shortMessage ?? errorText(error);
