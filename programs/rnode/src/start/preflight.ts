import { RpcError } from "@rnode/jsonrpc";
import type { L1Client } from "@rnode/l1";
import { type EngineClient, engineMethodsAt, forkchoiceVersion, type L2Blocks } from "@rnode/node-clients";
import type { Logger } from "@rnode/observe";
import { Backoff, type Clock, type Hex, isCodedError, retry } from "@rnode/primitives";
import { l1ChainConfig, type RollupConfig } from "@rnode/protocol";
import { contradictionOfForks } from "../common/block-form.ts";
import { keptL1Block } from "../common/kept-block.ts";
import { StartError } from "../common/start-error.ts";

export interface PreflightDeps {
  readonly config: RollupConfig;
  readonly l1: Pick<L1Client, "chainIds" | "blockByNumber" | "blockByLabel">;
  readonly l2: Pick<L2Blocks, "chainId" | "headerBy">;
  readonly engine: Pick<EngineClient, "capabilities" | "knows">;
  readonly clock: Clock;
  readonly log: Logger;
  /** how error messages refer to the endpoints and files */
  readonly l1Name: string;
  readonly l2Name: string;
  readonly jwtPath: string;
  /** the options that the rollup's fork times come from */
  readonly forksFrom: string;
  /** whether this node makes blocks, whose times come from our own clock */
  readonly isSequencer: boolean;
  /** false: a client that is synced by its own peers may start from another state than the genesis */
  readonly checksL2Genesis: boolean;
  /** whether the head must fit the forks: not for the command that takes back a head that does not */
  readonly checksHead: boolean;
  /** aborts the waiting */
  readonly signal: AbortSignal;
}

const ATTEMPTS = 10;
const PAUSES = { firstMs: 500, maxMs: 10_000 };
const METHOD_NOT_FOUND = -32601;
/** No L1 accepts a block that is this far ahead of the clocks of its validators. */
const MAX_CLOCK_SKEW_SEC = 60;

/**
 * Checks that L1 and the engine belong to this rollup. Waits for endpoints that are not up yet, and logs that it does.
 * Spec: docs/protocol/05-services.md#l1-execution-client-access
 *
 * @throws {StartError} start/wrong-chain, start/wrong-endpoint, start/unauthorized, start/unreachable, start/clock
 */
export async function preflight(deps: PreflightDeps): Promise<void> {
  await checkL1(deps);
  await checkL2(deps);
  await checkEngine(deps);
}

async function checkL1(deps: PreflightDeps): Promise<void> {
  const { config, l1, l1Name, log } = deps;
  const asL1 = <T>(ask: () => Promise<T>): Promise<T> => whenUp(deps, `L1 at ${l1Name} (--l1)`, ask);
  for (const { endpoint, chainId, failure } of await asL1(() => l1.chainIds())) {
    const refusal = isMethodUnknown(failure) ? notAnExecutionClient(`L1 at ${endpoint} (--l1)`, failure) : undefined;
    if (refusal !== undefined) throw refusal;
    if (chainId === undefined) log.warn("an L1 endpoint does not answer, going on without it", { endpoint });
    if (chainId === undefined || chainId === config.l1ChainId) continue;
    const hint = chainId === config.l2ChainId ? " (that is the L2's: is --l1 the L2 endpoint?)" : "";
    throw new StartError(
      "start/wrong-chain",
      `--l1 ${endpoint} is chain ${chainId}${hint}, but the rollup's L1 is chain ${config.l1ChainId}: give an endpoint of that chain`,
    );
  }
  const { number, hash } = config.genesis.l1;
  const block = await asL1(() => keptL1Block(l1, number));
  const head = await asL1(() => l1.blockByLabel("latest"));
  assertGenesis(deps, { what: `--l1 ${l1Name}`, number, expected: hash, got: block?.hash, head: head?.number });
  if (head !== undefined) checkClock(deps, head);
}

/** Our clock is compared with the newest L1 block: only a clock that is behind can be noticed. */
function checkClock(
  { config, clock, isSequencer, log }: PreflightDeps,
  head: { readonly number: number; readonly timestamp: number },
): void {
  const aheadSec = head.timestamp - Math.floor(clock.unixMs() / 1000);
  if (aheadSec <= MAX_CLOCK_SKEW_SEC) return;
  const isPublic = l1ChainConfig(config.l1ChainId) !== undefined;
  if (isSequencer && isPublic) {
    throw new StartError(
      "start/clock",
      `this machine's clock is ${aheadSec} s or more behind: L1 block ${head.number} is of ${head.timestamp}; set the clock (NTP), as --sequencer.enabled makes blocks by it`,
    );
  }
  log.warn("this machine's clock is behind the newest L1 block: set it (NTP)", { l1Head: head.number, behindSec: aheadSec });
}

async function checkL2(deps: PreflightDeps): Promise<void> {
  const { config, l2, l2Name } = deps;
  const chainId = await asL2(deps, () => l2.chainId());
  if (chainId !== config.l2ChainId) {
    const hint = chainId === config.l1ChainId ? " (that is the L1's: is --l2 the L1 endpoint?)" : "";
    throw new StartError(
      "start/wrong-chain",
      `--l2 ${l2Name} is chain ${chainId}${hint}, but the rollup's L2 is chain ${config.l2ChainId}`,
    );
  }
  if (deps.checksL2Genesis) await checkL2Genesis(deps);
  if (!deps.checksHead) return;
  const head = await asL2(deps, () => l2.headerBy("latest"));
  const ofHead = head && contradictionOfForks(config.forkTimes, head.header);
  if (ofHead === undefined) return;
  throw new StartError(
    "start/wrong-forks",
    `${deps.forksFrom} contradicts the head of the execution client at ${l2Name}, block ${head?.header.number} of time ${head?.header.timestamp}: ${ofHead}; give both programs the same fork times, and if the head was made with others, take it back by "rnode resync --from=N" and the same options`,
  );
}

async function checkL2Genesis(deps: PreflightDeps): Promise<void> {
  const { config, l2, l2Name } = deps;
  const { number, hash } = config.genesis.l2;
  const genesis = await asL2(deps, () => l2.headerBy(number));
  const head = genesis === undefined ? await asL2(deps, () => l2.headerBy("latest")) : undefined;
  assertGenesis(deps, { what: `--l2 ${l2Name}`, number, expected: hash, got: genesis?.hash, head: head?.header.number });
  const ofGenesis = genesis && contradictionOfForks(config.forkTimes, genesis.header);
  if (ofGenesis !== undefined) {
    throw new StartError(
      "start/wrong-forks",
      `${deps.forksFrom} contradicts the genesis of the execution client at ${l2Name}, block ${number} of time ${genesis?.header.timestamp}: ${ofGenesis}; give the fork times that the genesis was made with`,
    );
  }
}

async function checkEngine(deps: PreflightDeps): Promise<void> {
  const { config, engine, l2Name, log } = deps;
  const nowSec = Math.floor(deps.clock.unixMs() / 1000);
  const needed = engineMethodsAt(config.forkTimes, nowSec);
  const listed = await asL2(deps, () => engine.capabilities());
  if (listed === undefined || listed.length === 0) {
    for (const version of [forkchoiceVersion(config.forkTimes, undefined), forkchoiceVersion(config.forkTimes, nowSec)]) {
      if (await asL2(deps, () => engine.knows(`engine_forkchoiceUpdatedV${version}`))) return;
    }
    throw noEngineApi(l2Name);
  }
  if (!listed.some((name) => name.startsWith("engine_"))) throw noEngineApi(l2Name);
  const missing = needed.filter((method) => !listed.includes(method));
  if (missing.length > 0) {
    throw new StartError(
      "start/old-engine",
      `the execution client at ${l2Name} (--l2) does not have ${missing.join(", ")}, which the rollup's forks need now: update it`,
    );
  }
  for (const time of new Set(Object.values(config.forkTimes))) {
    const later = time > nowSec ? engineMethodsAt(config.forkTimes, time).filter((method) => !listed.includes(method)) : [];
    if (later.length > 0)
      log.warn("the execution client must be updated before a fork", { lacks: later.join(","), forkTime: time });
  }
}

const noEngineApi = (l2Name: string): StartError =>
  new StartError(
    "start/wrong-endpoint",
    `--l2 ${l2Name} has no Engine API: give the execution client's authenticated port (--authrpc.port, by default 8551), not the one for users`,
  );

/** A client whose head is above the block, and that no longer has it, passes: its chain id was checked. */
function assertGenesis(
  { log }: PreflightDeps,
  {
    what,
    number,
    expected,
    got,
    head,
  }: { what: string; number: number; expected: Hex; got: Hex | undefined; head: number | undefined },
): void {
  if (got === expected) return;
  if (got === undefined && head !== undefined && head > number) {
    const text = "a client no longer has the block that the rollup starts from, whose hash is therefore not checked";
    log.warn(text, { client: what, block: number, expected });
    return;
  }
  if (got === undefined) {
    throw new StartError("start/wrong-chain", `${what} does not have block ${number}, which the rollup starts from (${expected})`);
  }
  throw new StartError(
    "start/wrong-chain",
    `${what} is another chain: its block ${number} is ${got}, but the rollup starts from ${expected}`,
  );
}

const asL2 = <T>(deps: PreflightDeps, ask: () => Promise<T>): Promise<T> =>
  whenUp(deps, `the execution client at ${deps.l2Name} (--l2)`, ask);

function whenUp<T>({ clock, log, signal, jwtPath }: PreflightDeps, what: string, ask: () => Promise<T>): Promise<T> {
  const onFailure = (error: unknown, pauseMs: number, attempt: number): void => {
    const refusal = refusalInWords(what, error, jwtPath);
    if (refusal !== undefined) throw refusal;
    if (!isCodedError(error)) throw error;
    const isTemporary = error.code === "l1/unavailable" || error.code === "engine/unavailable";
    if (!isTemporary) throw new StartError("start/unreachable", `${what}: ${error.message}`, { cause: error });
    if (attempt === ATTEMPTS) {
      throw new StartError("start/unreachable", `${what} cannot be reached, gave up after ${ATTEMPTS} attempts: ${error.message}`, {
        cause: error,
      });
    }
    log.warn(`waiting for ${what}`, { attempt, of: ATTEMPTS, pauseMs, reason: error.message });
  };
  return retry(ask, { backoff: new Backoff(PAUSES), clock, signal, onFailure });
}

/** What no waiting helps against. */
function refusalInWords(what: string, error: unknown, jwtPath: string): StartError | undefined {
  if (isCodedError(error, "engine/unauthorized")) {
    const reason = String(error.data.reason);
    const remedy = /stale|future|expired|issued/i.test(reason)
      ? "the clocks of both machines must agree to 60 s: set them (NTP)"
      : `--l2.jwt-secret ${jwtPath} must be the file that the execution client was started with (--authrpc.jwtsecret)`;
    return new StartError("start/unauthorized", `${what} refuses our token (${reason}): ${remedy}`, { cause: error });
  }
  const cause = isCodedError(error) ? error.cause : undefined;
  return isMethodUnknown(cause) ? notAnExecutionClient(what, cause) : undefined;
}

const isMethodUnknown = (error: unknown): error is RpcError => error instanceof RpcError && error.code === METHOD_NOT_FOUND;

const notAnExecutionClient = (what: string, cause: RpcError): StartError =>
  new StartError("start/wrong-endpoint", `${what} is not an execution client: it answers "${cause.message}" to an eth_ method`, {
    cause,
  });
