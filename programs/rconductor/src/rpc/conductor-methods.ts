import {
  anyJson,
  booleanShape,
  INVALID_PARAMS,
  type MethodTable,
  method,
  param,
  RpcError,
  refuse,
  SERVER_ERROR,
  shape,
  textShape,
  toRpcError,
  withRpcErrors,
} from "@rnode/jsonrpc";
import { type ExecutionPayloadEnvelope, envelopeFromJson } from "@rnode/protocol";
import type { ClusterView } from "../cluster/cluster-view.ts";
import type { CommitStore } from "../cluster/commit-store.ts";
import type { RosterRecord } from "../cluster/records.ts";
import type { Conductor } from "../conductor.ts";
import { ConductorError } from "../conductor-error.ts";

const MAX_ID_LENGTH = 100;
/** Servers that lead no more are kept in etcd with each look at the cluster. */
const MAX_ROSTER = 100;

/** Names as `--server-id` has them: they are kept in etcd. */
const serverId = shape<string>({ type: "string", pattern: "^[\\w.-]{1,100}$" }, (value) =>
  typeof value === "string" && value.length <= MAX_ID_LENGTH && /^[\w.-]+$/.test(value)
    ? value
    : refuse(`at most ${MAX_ID_LENGTH} letters, digits, dots, dashes and underscores`, value),
);
/** 0, or a version of the cluster's configuration. */
const versionShape = shape<number>({ type: "integer", minimum: 0 }, (value) =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : refuse("a whole number from 0 on", value),
);

/** As raft's library numbers them. */
const SUFFRAGE = { voter: 0, nonvoter: 1 } as const;

interface ServerInfo {
  readonly id: string;
  readonly addr: string;
  readonly suffrage: number;
}

export interface ConductorMethodsDeps {
  /** undefined until its endpoints are known */
  readonly conductor: () => Conductor | undefined;
  readonly store: Pick<CommitStore, "forget">;
}

/**
 * The methods of `conductor_`, as op-conductor has them. Members of the cluster register themselves; what upstream does to raft's list of
 * servers changes here who of them may lead. Spec: docs/protocol/05-services.md#conductor
 */
export function conductorMethods({ conductor, store }: ConductorMethodsDeps): MethodTable {
  const ready = (): Conductor => {
    const found = conductor();
    if (found === undefined) throw new RpcError(SERVER_ERROR, "conductor is starting: it waits for its endpoints");
    return found;
  };
  const server = [param("id", serverId), param("addr", textShape), param("version", versionShape)] as const;
  const changed = (version: number, change: (roster: RosterRecord) => RosterRecord): Promise<null> =>
    withRpcErrors(async () => {
      ready().assertMayChangeRoster();
      await ready().session.changeRoster(version, (roster) => {
        const changed = change(roster);
        if (changed.nonvoters.length + changed.removed.length <= MAX_ROSTER) return changed;
        throw new ConductorError("conductor/refused", { reason: `at most ${MAX_ROSTER} servers are kept as nonvoters or removed` });
      });
      return null;
    });
  const asMember = (id: string): void => {
    if (ready().view?.members.some((member) => member.id === id)) return;
    throw new RpcError(
      SERVER_ERROR,
      `${id} is no member: members register themselves. Start its rconductor with --server-id=${id} and the same --etcd and --etcd.prefix`,
    );
  };
  const asNonvoter = (id: string, version: number): Promise<null> => {
    asMember(id);
    return changed(version, (roster) => ({
      nonvoters: [...without(roster.nonvoters, id), id],
      removed: without(roster.removed, id),
    }));
  };
  const seen = viewMethods(() => ready().view);
  return {
    ...seen,
    conductor_active: method({
      params: [],
      summary: "Whether it controls its sequencer: neither paused nor stopped.",
      handler: () => !ready().isPaused && !ready().isStopped,
    }),
    conductor_paused: method({ params: [], summary: "Whether it is paused.", handler: () => ready().isPaused }),
    conductor_stopped: method({ params: [], summary: "Whether it was stopped.", handler: () => ready().isStopped }),
    conductor_pause: method({
      params: [],
      summary: "Leaves the sequencer alone from now on. Elections go on.",
      handler: () => {
        ready().pause();
        return null;
      },
    }),
    conductor_resume: method({
      params: [],
      summary: "Controls the sequencer again.",
      handler: async () => {
        await ready().resume();
        return null;
      },
    }),
    conductor_stop: method({
      params: [],
      summary: "Takes no part in elections any more, until the program is started again. A leader hands over first.",
      handler: () =>
        withRpcErrors(async () => {
          await ready().stop();
          return null;
        }),
    }),
    conductor_sequencerHealthy: method({
      params: [],
      summary: "Whether its sequencer is healthy.",
      handler: () => ready().isHealthy,
    }),
    conductor_leader: method({
      params: [],
      summary: "Whether it leads, or leadership is overridden.",
      handler: () => ready().isOverridden || ready().isLeader,
    }),
    conductor_leaderWithID: method({
      ...seen.conductor_leaderWithID!,
      handler: (args, context) =>
        ready().isOverridden
          ? { id: "N/A (Leader overridden)", addr: "N/A", suffrage: SUFFRAGE.voter }
          : seen.conductor_leaderWithID!.handler(args, context),
    }),
    conductor_leaderOverridden: method({
      params: [],
      summary: "Whether leadership is overridden.",
      handler: () => ready().isOverridden,
    }),
    conductor_overrideLeader: method({
      params: [param("override", booleanShape)],
      summary: "Answers as if it led, or as it is. Nothing is committed without leadership.",
      handler: ([override]) => {
        ready().isOverridden = override;
        return null;
      },
    }),
    conductor_addServerAsVoter: method({
      params: server,
      summary: "A member may lead again.",
      handler: ([id, , version]) => {
        asMember(id);
        return changed(version, (roster) => ({ nonvoters: without(roster.nonvoters, id), removed: without(roster.removed, id) }));
      },
    }),
    conductor_addServerAsNonvoter: method({
      params: server,
      summary: "A member does not lead. If it does now, it hands over.",
      handler: ([id, , version]) => asNonvoter(id, version),
    }),
    conductor_demoteVoter: method({
      params: [param("id", serverId), param("version", versionShape)],
      summary: "The same, for whoever knows no address.",
      handler: ([id, version]) => asNonvoter(id, version),
    }),
    conductor_removeServer: method({
      params: [param("id", serverId), param("version", versionShape)],
      summary: "A server neither leads nor is listed, even if its rconductor is at work. If it leads now, it hands over.",
      handler: ([id, version]) =>
        changed(version, (roster) => ({ nonvoters: without(roster.nonvoters, id), removed: [...without(roster.removed, id), id] })),
    }),
    conductor_transferLeader: method({
      params: [],
      summary: "Stops the sequencer and lets any other member lead.",
      handler: () =>
        withRpcErrors(async () => {
          await ready().transfer(undefined);
          return null;
        }),
    }),
    conductor_transferLeaderToServer: method({
      params: [param("id", textShape), param("addr", textShape)],
      summary: "Stops the sequencer and lets that member lead. Its address is known: what is given is not used.",
      handler: ([id]) =>
        withRpcErrors(async () => {
          await ready().transfer(id);
          return null;
        }),
    }),
    conductor_commitUnsafePayload: method({
      params: [param("envelope", anyJson)],
      summary: "Commits a block, before anybody else sees it.",
      handler: ([json]) =>
        withRpcErrors(async () => {
          await ready().commit(readEnvelope(json));
          return null;
        }),
    }),
    conductor_undoUnsafePayload: method({
      params: [param("hash", textShape)],
      summary:
        "Takes back the last committed block, which must be this one and which no node has executed: the leader makes another one. For a block that no engine can execute.",
      handler: ([hash]) =>
        withRpcErrors(async () => {
          const { number, hash: now } = await ready().undo(hash);
          return { number, hash: now };
        }),
    }),
    conductor_forgetUnsafePayload: method({
      params: [param("hash", textShape)],
      summary:
        "Forgets the last committed block, which must be this one: a conductor with --bootstrap begins anew at its node's unsafe head. For when L1 has gone another way.",
      handler: ([hash]) =>
        withRpcErrors(async () => {
          if (!(await store.forget(hash))) throw new RpcError(SERVER_ERROR, `${hash} is not the last committed block`);
          return null;
        }),
    }),
  };
}

/** The methods that need only the state of the cluster. */
export function viewMethods(view: () => ClusterView | undefined): MethodTable {
  return {
    conductor_leaderWithID: method({
      params: [],
      summary: "Who leads; empty texts if nobody does.",
      handler: (): ServerInfo => {
        const { leader, members = [] } = view() ?? {};
        const addr = members.find(({ id }) => id === leader?.id)?.addr ?? "";
        return { id: leader?.id ?? "", addr, suffrage: SUFFRAGE.voter };
      },
    }),
    conductor_clusterMembership: method({
      params: [],
      summary: "The members that are at work, and the version of who may lead.",
      handler: () => {
        const { members = [], roster } = view() ?? {};
        const servers = members
          .filter(({ id }) => roster?.removed.includes(id) !== true)
          .map(
            ({ id, addr }): ServerInfo => ({ id, addr, suffrage: SUFFRAGE[roster?.nonvoters.includes(id) ? "nonvoter" : "voter"] }),
          );
        return { servers, version: roster?.version ?? 0 };
      },
    }),
  };
}

const without = (ids: readonly string[], id: string): string[] => ids.filter((other) => other !== id);

function readEnvelope(json: unknown): ExecutionPayloadEnvelope {
  try {
    return envelopeFromJson(json);
  } catch (error) {
    throw toRpcError(error, { code: INVALID_PARAMS, message: ({ message }) => `invalid argument 0: ${message}` });
  }
}
