import type { Forking } from "@rnode/dev-chain";
import { RpcError, SERVER_ERROR } from "@rnode/jsonrpc";
import { noProgramMetrics, Scope, UserError } from "@rnode/program";
import type { ClientOptions } from "../options.ts";
import type { PublicTables } from "../rpc/public-server.ts";
import { DEFAULT_CHAIN_ID } from "./dev-options.ts";
import { type DevWorld, type DevWorldDeps, openDevWorld } from "./dev-world.ts";

/** Requests that were begun on a chain end on it. */
const GRACE_MS = 2_000;
const OWN_NAMES: readonly string[] = ["127.0.0.1", "localhost", "[::1]", "0.0.0.0", "[::]"];

export interface DevWorldsDeps extends Omit<DevWorldDeps, "replaceFork"> {
  readonly options: ClientOptions;
}

/** The chain that the listener serves now, and its replacement by `anvil_reset`. */
export class DevWorlds {
  /** of the chain that is served, at each request */
  readonly tables: PublicTables;
  /** of the listener */
  ownPort: number | undefined;
  readonly #deps: DevWorldsDeps;
  #served: { readonly world: DevWorld; readonly scope: Scope } | undefined;
  readonly #open = new Set<Scope>();
  #isReplacing = false;

  constructor(scope: Scope, deps: DevWorldsDeps) {
    this.#deps = deps;
    this.tables = {
      http: served(() => this.current.tables.http),
      ws: served(() => this.current.tables.ws),
      subscriptions: served(() => this.current.tables.subscriptions),
    };
    scope.onClose("development chain", () => Promise.all([...this.#open].map((open) => open.close())));
  }

  get current(): DevWorld {
    if (this.#served === undefined) throw new Error("no chain is open yet");
    return this.#served.world;
  }

  async openFirst(): Promise<DevWorld> {
    const { options, metrics } = this.#deps;
    this.#served = await this.#openWorld(options, metrics, false);
    return this.current;
  }

  async #openWorld(options: ClientOptions, metrics: DevWorldDeps["metrics"], isReset: boolean) {
    const { log, clock } = this.#deps;
    const scope = new Scope({ log, clock });
    this.#open.add(scope);
    try {
      const replaceFork = (forking: Forking): Promise<void> => this.#replace(forking);
      return { world: await openDevWorld(scope, options, isReset, { ...this.#deps, metrics, replaceFork }), scope };
    } catch (error) {
      await scope.close();
      this.#open.delete(scope);
      throw error;
    }
  }

  /** @throws {RpcError} the chain that is served stays */
  async #replace({ url: given, blockNumber }: Forking): Promise<void> {
    const { options, clock, log } = this.#deps;
    const url = given ?? this.current.forkUrl;
    if (url === undefined)
      throw new RpcError(SERVER_ERROR, "anvil_reset: this chain is no fork; say which chain to fork with forking.jsonRpcUrl");
    if (this.current.isOf({ url, blockNumber })) return this.current.reset();
    this.#checkUrl(url);
    if (this.#isReplacing) throw new RpcError(SERVER_ERROR, "anvil_reset: another one is running; ask again when it has ended");
    this.#isReplacing = true;
    try {
      const { mode } = this.current.mining;
      const dev = { ...options.dev, forkUrl: url, forkBlock: blockNumber, chainId: DEFAULT_CHAIN_ID };
      const next = await this.#openWorld({ ...options, dev }, noProgramMetrics, true);
      const { scope, world } = this.#served!;
      this.#served = next;
      world.mining.setMode({ kind: "manual" });
      next.world.mining.setMode(mode);
      void clock
        .sleep(GRACE_MS, scope.signal)
        .then(() => scope.close())
        .then(() => this.#open.delete(scope));
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      throw new RpcError(SERVER_ERROR, `anvil_reset: ${error.message}`);
    } finally {
      this.#isReplacing = false;
    }
    log.info("another chain is served from now on", { reason: "anvil_reset" });
  }

  /** A chain that waited for itself would wait for ever. */
  #checkUrl(text: string): void {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url === undefined || !/^https?:$/.test(url.protocol))
      throw new RpcError(SERVER_ERROR, "anvil_reset: forking.jsonRpcUrl must be an http or https URL");
    if (OWN_NAMES.includes(url.hostname) && Number(url.port) === this.ownPort)
      throw new RpcError(SERVER_ERROR, "anvil_reset: forking.jsonRpcUrl is this chain itself; name another endpoint");
  }
}

/** The same names and values as the object has that is current when it is asked. */
function served<T extends object>(current: () => T): T {
  return new Proxy({} as T, {
    get: (_, key) => Reflect.get(current(), key) as unknown,
    has: (_, key) => Reflect.has(current(), key),
    ownKeys: () => Reflect.ownKeys(current()),
    getOwnPropertyDescriptor: (_, key) => {
      const found = Reflect.getOwnPropertyDescriptor(current(), key);
      return found && { ...found, configurable: true };
    },
  });
}
